import type { TenantStep } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { remainingOf } from "./tenant-standing";

/** "3 instances and 2 storages left": empty if nothing is. */
export function useRemainingText(steps: readonly TenantStep[]): string {
  const { t } = useText();
  const { list } = useFormat();
  const kindText = useKindText();
  const left = remainingOf(steps);
  return left.length === 0
    ? ""
    : t("platform.left", { what: list(left.map(([kind, count]) => kindText(kind, count))) });
}

/** "3 instances". Kinds that a service added later are shown by their name. */
export function useKindText(): (kind: string, count: number) => string {
  const { t } = useText();
  const known: Record<string, (count: number) => string> = {
    instances: (count) => t("platform.countInstances", { count }),
    storages: (count) => t("platform.countStorages", { count }),
    logs: (count) => t("platform.countLogs", { count }),
    jobs: (count) => t("platform.countJobs", { count }),
    outputs: (count) => t("platform.countOutputs", { count }),
    uploads: (count) => t("platform.countUploads", { count }),
    mq_credentials: (count) => t("platform.countCredentials", { count }),
  };
  return (kind, count) => known[kind]?.(count) ?? `${count} ${kind}`;
}
