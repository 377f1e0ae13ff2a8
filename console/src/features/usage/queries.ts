import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import { getStorageQuota, listJobUsage, listUsage } from "@/api/generated/operations";
import type { JobUsageGroup, UsageGroup } from "@/api/generated/types";
import type { Grouping, JobGrouping } from "./choices";
import { type Choice, type Window, windowOf } from "./period";

const PAGE = 200;

export interface Report<Group> {
  window: Window;
  groups: Group[];
  next: string | null;
  /** Of the whole window, with the first page: by day, and by what it was. */
  whole: { days: Group[]; kinds: Group[] } | null;
}

type Place = { window: Window; cursor: string } | null;

interface Asked<By> {
  from: string;
  to: string;
  group_by: By;
}

interface Source<Group, By extends string> {
  key: string;
  /** What tells the kinds apart. */
  kind: By;
  queryOf: (window: Window, by: By | "day") => Asked<By | "day">;
  read: (
    query: Asked<By | "day"> & { limit: number; cursor?: string },
    signal: AbortSignal,
  ) => Promise<{ items: Group[]; next_cursor: string | null }>;
  isOpen: (group: Group) => boolean;
}

const time = (at: number) => new Date(at).toISOString();

export const queryOf = ({ from, to }: Window, by: Grouping): Asked<Grouping> => ({
  from: time(from),
  to: time(to),
  group_by: by,
});

/** Whole days: what jobs cost is known when it is past. */
export const jobQueryOf = ({ from, end }: Window, by: JobGrouping): Asked<JobGrouping> => ({
  from: time(from),
  to: time(end),
  group_by: by,
});

const ofInstances: Source<UsageGroup, Grouping> = {
  key: "usage-report",
  kind: "kind",
  queryOf,
  read: (query, signal) => call(listUsage, { query }, { signal }),
  isOpen: (group) => group.open_runs > 0,
};

const ofJobs: Source<JobUsageGroup, JobGrouping> = {
  key: "job-usage-report",
  kind: "charge",
  queryOf: jobQueryOf,
  read: (query, signal) => call(listJobUsage, { query }, { signal }),
  isOpen: (group) => group.open_attempts > 0,
};

/** At most 366 days, in each currency. */
async function readDays<Group, By extends string>(
  source: Source<Group, By>,
  window: Window,
  signal: AbortSignal,
): Promise<Group[]> {
  const days: Group[] = [];
  let cursor: string | null = null;
  do {
    const query = { ...source.queryOf(window, "day"), limit: PAGE, ...(cursor !== null && { cursor }) };
    const page: { items: Group[]; next_cursor: string | null } = await source.read(query, signal);
    days.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor);
  return days;
}

/** A period by groups. All pages and sums are of one window, so that they add up although time goes on. */
const report = <Group, By extends string>(source: Source<Group, By>, choice: Choice, by: By | "day") =>
  infiniteQueryOptions({
    queryKey: [source.key, choice, by],
    queryFn: async ({ pageParam, signal }): Promise<Report<Group>> => {
      const read = (window: Window, group_by: By | "day", cursor?: string) =>
        source.read(
          { ...source.queryOf(window, group_by), limit: PAGE, ...(cursor !== undefined && { cursor }) },
          signal,
        );
      if (pageParam) {
        const page = await read(pageParam.window, by, pageParam.cursor);
        return { window: pageParam.window, groups: page.items, next: page.next_cursor, whole: null };
      }
      const window = windowOf(choice, Date.now());
      const [days, kinds, page] = await Promise.all([
        readDays(source, window, signal),
        read(window, source.kind),
        by === "day" || by === source.kind ? null : read(window, by),
      ]);
      const groups = page?.items ?? (by === "day" ? days : kinds.items);
      return { window, groups, next: page?.next_cursor ?? null, whole: { days, kinds: kinds.items } };
    },
    initialPageParam: null as Place,
    getNextPageParam: ({ window, next }): Place => (next ? { window, cursor: next } : null),
    refetchInterval: ({ state }) => (state.data?.pages[0]?.whole?.kinds.some(source.isOpen) ? 60_000 : false),
  });

export const usage = (choice: Choice, by: Grouping) => report(ofInstances, choice, by);

export const jobUsage = (choice: Choice, by: JobGrouping) => report(ofJobs, choice, by);

/** What the tenant may have of storages at a time, and has. */
export const storageQuota = queryOptions({
  queryKey: ["storage-quota"],
  queryFn: ({ signal }) => call(getStorageQuota, {}, { signal }),
});
