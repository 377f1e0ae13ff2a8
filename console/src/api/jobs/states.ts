import type { JobState } from "@/api/generated/types";

export const jobStates = [
  "queued",
  "assigned",
  "running",
  "cancelling",
  "succeeded",
  "failed",
  "cancelled",
  "expired",
] as const satisfies JobState[];

/** Those of jobs that have a worker. */
export const moving = ["assigned", "running", "cancelling"] as const satisfies JobState[];
/** How jobs end. */
export const ends = ["succeeded", "failed", "cancelled", "expired"] as const satisfies JobState[];
