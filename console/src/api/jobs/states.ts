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
