import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import { getInstance, listEvents, listInstances } from "@/api/generated/operations";
import type { Event, InstanceId } from "@/api/generated/types";
import { type InstanceFilter, keys, newest, newestPage } from "./cache";
import { endedRunsPage, instancesPage } from "./requests";

/** The tenant's instances, newest first if the filter names no order. */
export const instances = (filter: InstanceFilter = {}) =>
  infiniteQueryOptions({
    queryKey: keys.list(filter),
    queryFn: async ({ pageParam, signal, client }) =>
      newestPage(client, await call(listInstances, instancesPage(filter, pageParam), { signal })),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });

export const instance = (id: InstanceId) =>
  queryOptions({
    queryKey: keys.one(id),
    queryFn: async ({ signal, client }) =>
      newest(client, await call(getInstance, { path: { id } }, { signal })),
  });

/** A run that has ended, as its event tells. */
export interface EndedRun {
  instance_id: InstanceId;
  started_at: string;
  ended_at: string;
}

export interface EndedRuns {
  runs: EndedRun[];
  /** Since when the list is whole; null if it is whole from the beginning. */
  known_since: string | null;
}

export function endedRunOf(event: Event): EndedRun | null {
  if (event.type !== "instance.run_ended" || !event.instance_id || !event.data.ended_at) return null;
  return {
    instance_id: event.instance_id,
    started_at: event.data.started_at,
    ended_at: event.data.ended_at,
  };
}

export const endedRunsKey = ["ended-runs"] as const;

/** The newest runs of all instances in one request, for the strips of the list. */
export const endedRuns = queryOptions({
  queryKey: endedRunsKey,
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: async ({ signal }): Promise<EndedRuns> => {
    const page = await call(listEvents, endedRunsPage, { signal });
    return {
      runs: page.items.flatMap((event) => endedRunOf(event) ?? []),
      known_since: page.next_cursor ? (page.items.at(-1)?.time ?? null) : null,
    };
  },
});
