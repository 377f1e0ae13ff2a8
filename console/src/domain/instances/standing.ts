import type { Instance, ReasonCode } from "@/api/generated/types";
import { isKey, type Language, type PlainKey, type Text } from "@/i18n";
import type { Mark } from "@/ui/state";

export interface Standing {
  mark: Mark;
  word: PlainKey;
}

/** Somebody or something has stopped it on purpose: no failure. */
const stoppedBy = new Set<ReasonCode>([
  "idle_stopped",
  "stopped_by_administrator",
  "tenant_suspended",
  "budget_exhausted",
  "recalled",
]);

/** It had run. */
const ranBefore = new Set<ReasonCode>([
  "node_lost",
  "unit_lost",
  "unit_gone",
  "removed_from_unit",
  "place_lost",
  "preempted",
  "container_exited",
  "probe_failed",
]);

export const isFailed = (it: Pick<Instance, "state" | "reason">) =>
  it.state === "stopped" && it.reason !== null && !stoppedBy.has(it.reason);

/** Whether it changes by itself soon. */
export const isMoving = ({ state }: Pick<Instance, "state">) => state !== "running" && state !== "stopped";

/** How it stands, as a mark and a word. */
export function standingOf(it: Pick<Instance, "state" | "reason" | "hold">): Standing {
  switch (it.state) {
    case "pending":
      return it.reason === "queued"
        ? { mark: "moves", word: "instances.waiting" }
        : { mark: "moves", word: "instances.starting" };
    case "starting":
      return it.reason === "restarting"
        ? { mark: "moves", word: "instances.restarting" }
        : { mark: "moves", word: "instances.starting" };
    case "running":
      return { mark: "runs", word: "instances.running" };
    case "stopping":
      return { mark: "moves", word: "instances.stopping" };
    case "deleting":
      return { mark: "moves", word: "instances.deleting" };
    case "stopped":
      if (isFailed(it))
        return {
          mark: "failed",
          word: it.reason && ranBefore.has(it.reason) ? "instances.failed" : "instances.notStarted",
        };
      return { mark: "rests", word: it.hold ? "instances.held" : "instances.stopped" };
  }
}

/** Why, as a sentence. The API's own is English and says more. */
export function reasonOf(
  it: Pick<Instance, "reason" | "message">,
  t: Text,
  language: Language,
): string | null {
  if (!it.reason) return it.message;
  const key = `reasons.${it.reason}`;
  const ours = isKey(key) ? t(key) : null;
  return language === "en" ? (it.message ?? ours) : (ours ?? it.message);
}
