import type { Job, JobState } from "@/api/generated/types";
import type { PlainKey, Text } from "@/i18n";
import type { Mark } from "@/ui/state";

const marks: Record<JobState, Mark> = {
  queued: "rests",
  assigned: "moves",
  running: "runs",
  cancelling: "moves",
  succeeded: "done",
  failed: "failed",
  cancelled: "rests",
  expired: "rests",
};

export const standingOf = ({ state }: Pick<Job, "state">) =>
  ({ mark: marks[state], word: `jobs.${state}` }) as const satisfies { mark: Mark; word: PlainKey };

/** Why it is as it is, as far as the job itself tells. */
export function reasonOf(it: Job, t: Text): string | null {
  if (it.problem) return it.problem.message;
  return it.reason && t(`jobs.${it.reason}`);
}
