import { queryOptions, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { listEvents } from "@/api/generated/operations";
import type { UsageGroup } from "@/api/generated/types";
import { instances } from "@/api/instances/queries";

/** The newest deletions: usage outlives its instance, and their events have the names. */
export const deletedInstances = queryOptions({
  queryKey: ["deleted-instances"],
  queryFn: async ({ signal }) => {
    const { items } = await call(listEvents, { query: { type: "instance.deleted", limit: 200 } }, { signal });
    return items.flatMap((event) =>
      event.type === "instance.deleted" && event.instance_id
        ? [{ id: String(event.instance_id), name: event.data.name }]
        : [],
    );
  },
});

export interface Named {
  name: string | null;
  isDeleted: boolean;
  /** Its specification. */
  spec: string | null;
}

/** What the instances of a report are called, as far as two lists tell: an own question for each would be too many. */
export function useNames(wanted: boolean): (group: UsageGroup) => Named {
  const known = useInfiniteQuery({ ...instances(), enabled: wanted });
  const deleted = useQuery({ ...deletedInstances, enabled: wanted });
  const alive = new Map(
    known.data?.pages.flatMap((page) => page.items.map((it) => [String(it.id), it] as const)) ?? [],
  );
  const gone = new Map(deleted.data?.map((it) => [it.id, it.name]) ?? []);
  const isWhole = known.isSuccess && !known.hasNextPage;
  return ({ group }) => {
    const it = alive.get(group);
    if (it) return { name: it.name, isDeleted: false, spec: it.gpu_spec.name };
    return { name: gone.get(group) ?? null, isDeleted: gone.has(group) || isWhole, spec: null };
  };
}
