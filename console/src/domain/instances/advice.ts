import type { Alternative, Instance, ReasonCode, ServiceImage } from "@/api/generated/types";

export type Advice =
  | { kind: "version"; version: string }
  | { kind: "again" }
  | { kind: "wait" }
  | { kind: "instead"; of: Alternative }
  | { kind: "settings" }
  | { kind: "log" }
  | { kind: "ask" };

const image = new Set<ReasonCode>(["image_pull_failed", "image_pull_denied", "invalid_image_name"]);
const program = new Set<ReasonCode>([
  "start_failed",
  "container_exited",
  "container_config_error",
  "probe_failed",
  "start_timeout",
]);
/** Somebody must change something before it can start. */
const blocked = new Set<ReasonCode>([
  "budget_exhausted",
  "quota_exceeded",
  "secret_unreadable",
  "storage_not_found",
  "storage_not_mountable",
  "storage_forbidden",
  "tenant_suspended",
  "template_rejected",
  "invalid_template",
  "invalid_spec",
]);

/** What a person can do after it failed, the best first. */
export function adviceFor(
  it: Pick<Instance, "reason" | "service" | "version" | "alternatives">,
  services: readonly Pick<ServiceImage, "service" | "version" | "recommended" | "deprecated">[],
): Advice[] {
  const { reason } = it;
  if (!reason) return [];
  const other = services.find(
    (one) => one.service === it.service && one.recommended && !one.deprecated && one.version !== it.version,
  );
  const advice: Advice[] = [];
  if (other && (image.has(reason) || program.has(reason)))
    advice.push({ kind: "version", version: other.version });
  if (reason === "stock_exhausted" || reason === "no_place" || reason === "storage_elsewhere") {
    advice.push({ kind: "wait" });
    for (const one of (it.alternatives ?? []).slice(0, 3)) advice.push({ kind: "instead", of: one });
  } else if (!blocked.has(reason)) advice.push({ kind: "again" });
  if (image.has(reason) || reason === "container_config_error") advice.push({ kind: "settings" });
  if (program.has(reason)) advice.push({ kind: "log" });
  advice.push({ kind: "ask" });
  return advice;
}
