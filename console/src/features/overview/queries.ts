import { queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import { listEvents, listJobs, listUsage } from "@/api/generated/operations";
import type { Event } from "@/api/generated/types";

const DAY = 86_400_000;

/** When the month (UTC) began that a moment is in. */
export const monthStart = (now: number) => {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
};

/** What each day of the month cost, and of the week before it if it has just begun. */
export const usageByDay = queryOptions({
  queryKey: ["usage", "by-day"],
  queryFn: async ({ signal }) => {
    const today = Math.floor(Date.now() / DAY) * DAY;
    const from = new Date(Math.min(monthStart(today), today - 7 * DAY)).toISOString();
    return (await call(listUsage, { query: { from, group_by: "day", limit: 200 } }, { signal })).items;
  },
});

export const recentEventsKey = ["recent-events"] as const;

/** The newest events of the studio, newest first. The page adds what it hears. */
export const recentEvents = queryOptions({
  queryKey: recentEventsKey,
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: async ({ signal }): Promise<readonly Event[]> =>
    (await call(listEvents, { query: { limit: 100 } }, { signal })).items,
});

/** Jobs that failed, newest first. */
export const failedJobs = queryOptions({
  queryKey: ["jobs", "failed"],
  queryFn: async ({ signal }) =>
    (await call(listJobs, { query: { state: ["failed"], limit: 20 } }, { signal })).items,
});
