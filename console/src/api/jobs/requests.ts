import type { JobFilter } from "./cache";
import { ends, moving } from "./states";

const PAGE = 50;

/** A page of the tenant's jobs, newest first if the filter names no order. */
export const jobsPage = ({ states, kind, level, group, sort }: JobFilter, cursor: string | null) => ({
  query: {
    limit: PAGE,
    ...(states?.length && { state: [...states] }),
    ...(kind && { kind }),
    ...(level && { level }),
    ...(group && { group }),
    ...(sort && { sort }),
    // the first page tells the number of all
    ...(cursor ? { cursor } : { include: ["total" as const] }),
  },
});

/** Jobs that have a worker, and those that wait for one. */
export const withWorker = { states: moving } as const satisfies JobFilter;
export const waiting = { states: ["queued"] } as const satisfies JobFilter;
/** Jobs that have ended, the last one first. */
export const endedJobs = { states: ends, sort: "-ended_at" } as const satisfies JobFilter;
