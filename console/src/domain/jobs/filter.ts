import type { JobKind, JobLevel } from "@/api/generated/types";
import type { JobFilter, JobSort } from "@/api/jobs/cache";
import { ends, jobStates } from "@/api/jobs/states";

/** What the address asks for. */
export interface JobSearch {
  /** Separated by commas. */
  state?: string | undefined;
  kind?: JobKind | undefined;
  level?: JobLevel | undefined;
  group?: string | undefined;
  sort?: JobSort | undefined;
}

/** States that do not exist are left out. */
export const statesOf = (state: string | undefined) => {
  const asked = state?.split(",") ?? [];
  return jobStates.filter((one) => asked.includes(one));
};

/** Jobs that have ended, the last one first, unless the address asks for others. */
export function endedFilter({ state, sort, ...rest }: JobSearch): JobFilter {
  const states = statesOf(state);
  return { ...rest, states: states.length > 0 ? states : ends, sort: sort ?? "-ended_at" };
}
