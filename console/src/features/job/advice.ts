import type { Job } from "@/api/generated/types";
import { isPictures } from "@/domain/jobs/parameters";

/** What helps after a failure. */
export type Advice = "memory" | "again" | "limit" | "model" | "input" | "change" | "storage" | "ask";

const byCode: Record<string, Advice> = {
  "out-of-memory": "memory",
  "engine-failed": "again",
  "gpu-failed": "again",
  "worker-lost": "again",
  "gang-incomplete": "again",
  "max-cost-reached": "limit",
  "model-missing": "model",
  "input-missing": "input",
  "invalid-parameters": "change",
  "timed-out": "change",
  "unknown-method": "ask",
  "storage-full": "storage",
  "storage-missing": "storage",
  "storage-refused": "storage",
  "quota-exceeded": "storage",
  "breaks-workers": "ask",
};

/** The first that helps with this failure, and whether the same may be submitted again as well. */
export function adviceFor(it: Pick<Job, "problem" | "application">): { first: Advice; again: boolean } {
  const first = byCode[it.problem?.code ?? ""] ?? "again";
  // more memory, another model, another limit: the same again fails again
  const again = first === "again" || first === "storage";
  return { first: first === "memory" && !isPictures(it) ? "change" : first, again };
}
