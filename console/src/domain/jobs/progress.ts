import type { Job } from "@/api/generated/types";

/** The part of the steps that is done, from 0 to 1. Null while it is not known. */
export function partOf({ progress }: Pick<Job, "progress">): number | null {
  if (!progress || progress.steps === 0 || progress.phase === "loading") return null;
  return Math.min(1, progress.step / progress.steps);
}

/** Steps from which on their pace tells something. */
const ENOUGH = 3;

/**
 * Seconds that are left, if it goes on as until now. Null for later attempts: some go on from a checkpoint, and nobody tells
 * from which.
 */
export function secondsLeft(
  it: Pick<Job, "progress" | "started_at" | "attempts">,
  now: number,
): number | null {
  const { progress, started_at, attempts } = it;
  if (!progress || !started_at || attempts !== 1 || progress.phase !== "working" || progress.step < ENOUGH)
    return null;
  const passed = (now - Date.parse(started_at)) / 1000;
  return Math.max(1, Math.round((passed / progress.step) * (progress.steps - progress.step)));
}
