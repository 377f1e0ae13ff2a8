import type { Problem, QuotaExceededProblem, StorageQuota } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import type { Text } from "@/i18n";

/** What is left of the quota. */
export const roomOf = ({ limits, used }: StorageQuota) => ({
  gib: Math.max(0, limits.gib - used.gib),
  storages: Math.max(0, limits.storages - used.storages),
});

const gibText = (left: number, limit: number, t: Text) =>
  left > 0 ? t("storages.quotaRoom", { size: left }) : t("storages.quotaNoRoom", { limit });

/** Why so many GiB more do not fit, as a sentence; undefined if they do. */
export function overGib(quota: StorageQuota, added: number, t: Text): string | undefined {
  const { gib } = roomOf(quota);
  return added > gib ? gibText(gib, quota.limits.gib, t) : undefined;
}

/** Why no storage more fits. */
export const overCount = (quota: StorageQuota, t: Text): string | undefined =>
  roomOf(quota).storages === 0 ? t("storages.quotaFull", { limit: quota.limits.storages }) : undefined;

const isQuotaProblem = (problem: Problem): problem is QuotaExceededProblem =>
  problem.type.endsWith("/quota-exceeded");

/** The refusal of a size, for its field: other refusals stand elsewhere. */
export function sizeRefusal(error: unknown, t: Text): string | undefined {
  if (!(error instanceof ApiError) || !isQuotaProblem(error.problem)) return undefined;
  const { quota, limit, used } = error.problem;
  if (quota !== "storage_gib" || limit == null || used == null) return undefined;
  return gibText(Math.max(0, limit - used), limit, t);
}
