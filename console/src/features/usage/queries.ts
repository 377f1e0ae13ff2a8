import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import { getStorageQuota, listUsage } from "@/api/generated/operations";
import type { PageUsageGroup, UsageGroup } from "@/api/generated/types";
import type { Grouping } from "./choices";
import { type Choice, type Window, windowOf } from "./period";

const PAGE = 200;

export interface Report {
  window: Window;
  groups: UsageGroup[];
  next: string | null;
  /** Of the whole window, with the first page: by day, and by what was used. */
  whole: { days: UsageGroup[]; kinds: UsageGroup[] } | null;
}

type Place = { window: Window; cursor: string } | null;

export const queryOf = ({ from, to }: Window, by: Grouping) => ({
  from: new Date(from).toISOString(),
  to: new Date(to).toISOString(),
  group_by: by,
});

function read(window: Window, by: Grouping, signal: AbortSignal, cursor?: string): Promise<PageUsageGroup> {
  const query = { ...queryOf(window, by), limit: PAGE, ...(cursor && { cursor }) };
  return call(listUsage, { query }, { signal });
}

/** At most 366 days, in each currency. */
async function readDays(window: Window, signal: AbortSignal): Promise<UsageGroup[]> {
  const days: UsageGroup[] = [];
  let cursor: string | null = null;
  do {
    const page: PageUsageGroup = await read(window, "day", signal, cursor ?? undefined);
    days.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor);
  return days;
}

/** Usage of a period by groups. All pages and sums are of one window, so that they add up although time goes on. */
export const usage = (choice: Choice, by: Grouping) =>
  infiniteQueryOptions({
    queryKey: ["usage-report", choice, by],
    queryFn: async ({ pageParam, signal }): Promise<Report> => {
      if (pageParam) {
        const page = await read(pageParam.window, by, signal, pageParam.cursor);
        return { window: pageParam.window, groups: page.items, next: page.next_cursor, whole: null };
      }
      const window = windowOf(choice, Date.now());
      const [days, kinds, page] = await Promise.all([
        readDays(window, signal),
        read(window, "kind", signal),
        by === "day" || by === "kind" ? null : read(window, by, signal),
      ]);
      const groups = page?.items ?? (by === "day" ? days : kinds.items);
      return { window, groups, next: page?.next_cursor ?? null, whole: { days, kinds: kinds.items } };
    },
    initialPageParam: null as Place,
    getNextPageParam: ({ window, next }): Place => (next ? { window, cursor: next } : null),
    refetchInterval: ({ state }) =>
      state.data?.pages[0]?.groups.some((it) => it.open_runs > 0) ? 60_000 : false,
  });

/** What the tenant may have of storages at a time, and has. */
export const storageQuota = queryOptions({
  queryKey: ["storage-quota"],
  queryFn: ({ signal }) => call(getStorageQuota, {}, { signal }),
});
