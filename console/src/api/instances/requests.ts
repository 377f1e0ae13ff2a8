import type { InstanceFilter } from "./cache";

const PAGE = 100;

/** A page of the tenant's instances, newest first if the filter names no order. */
export const instancesPage = ({ states, name, sort }: InstanceFilter, cursor: string | null) => ({
  query: {
    limit: PAGE,
    ...(states?.length && { state: states }),
    ...(name && { name }),
    ...(sort && { sort }),
    // the first page tells the number of all
    ...(cursor ? { cursor } : { include: ["total" as const] }),
  },
});

/** The newest runs of all instances. */
export const endedRunsPage = { query: { type: "instance.run_ended", limit: 200 } } as const;
