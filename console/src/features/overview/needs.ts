import type { Budget, Instance, Job } from "@/api/generated/types";
import { runningSeconds } from "@/domain/instances/running";
import { isFailed } from "@/domain/instances/standing";

export type Need =
  | { kind: "budget"; budget: Budget }
  | { kind: "failed"; it: Instance }
  | { kind: "idle"; it: Instance; since: string; stop_at: string }
  | { kind: "forgotten"; it: Instance }
  | { kind: "jobs"; jobs: readonly Job[] };

/** From so many seconds on, a run that nothing stops looks forgotten. */
const LONG = 8 * 3600;
/** Jobs that failed longer ago are known. */
const FRESH = 24 * 3_600_000;

/** What a person should look at, the most urgent first. */
export function needsOf(
  instances: readonly Instance[],
  budget: Budget | null,
  jobs: readonly Job[],
  now: number,
): Need[] {
  const own = instances.filter((it) => !it.managed_by);
  const failed = jobs.filter((it) => it.ended_at && now - Date.parse(it.ended_at) < FRESH);
  return [
    ...(budget && (budget.starts_refused || budget.runs_out_at) ? [{ kind: "budget", budget } as const] : []),
    ...own.filter(isFailed).map((it) => ({ kind: "failed", it }) as const),
    ...own.flatMap((it): Need[] => {
      if (it.state !== "running") return [];
      const idle = it.idle_stop;
      if (idle?.stop_at)
        return [{ kind: "idle", it, since: idle.idle_since ?? it.updated_at, stop_at: idle.stop_at }];
      return !idle && (runningSeconds(it, now) ?? 0) >= LONG ? [{ kind: "forgotten", it }] : [];
    }),
    ...(failed.length > 0 ? [{ kind: "jobs", jobs: failed } as const] : []),
  ];
}
