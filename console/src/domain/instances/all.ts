import { useInfiniteQuery, useSuspenseInfiniteQuery } from "@tanstack/react-query";
import type { Instance } from "@/api/generated/types";
import { instances } from "@/api/instances/queries";

export interface AllInstances {
  /** Those that are read: all, or the newest of a long list. */
  items: readonly Instance[];
  whole: boolean;
  /** All if they are read, else those that run; undefined until these are read. */
  running: readonly Instance[] | undefined;
  /** More run than are read. */
  isMore: boolean;
}

/** All instances, as far as a page needs them for its numbers. The list is read by the route's loader. */
export function useAllInstances(): AllInstances {
  const { data } = useSuspenseInfiniteQuery(instances());
  const whole = data.pages.at(-1)?.next_cursor === null;
  const items = data.pages.flatMap((page) => page.items);
  // of a long list, those that run are asked for by themselves
  const { data: running } = useInfiniteQuery({ ...instances({ states: ["running"] }), enabled: !whole });
  return {
    items,
    whole,
    running: whole ? items : running?.pages.flatMap((page) => page.items),
    isMore: !whole && running?.pages.at(-1)?.next_cursor !== null,
  };
}
