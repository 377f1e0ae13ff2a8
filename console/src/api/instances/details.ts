import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import {
  getInstanceMetrics,
  getInstanceOperation,
  getInstanceUsage,
  getSsh,
  listInstanceEvents,
  listInstanceLogs,
  listInstanceSshKeys,
  listMembers,
  listShareLinks,
  listSshKeys,
} from "@/api/generated/operations";
import type { InstanceId, Member, MeteredRun, OperationId, TenantId, Usage } from "@/api/generated/types";
import type { Range } from "./ranges";

const DAY = 86_400_000;

/** The newest events of an instance, newest first. The page adds what it hears. */
export const history = (id: InstanceId) =>
  queryOptions({
    queryKey: ["history", id],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) =>
      (await call(listInstanceEvents, { path: { id }, query: { limit: 100 } }, { signal })).items,
  });

/** All runs and holds, newest first, page by page. */
export const runs = (id: InstanceId) =>
  infiniteQueryOptions({
    queryKey: ["usage", id, "all"],
    queryFn: ({ pageParam, signal }) =>
      call(
        getInstanceUsage,
        { path: { id }, query: { limit: 50, ...(pageParam && { cursor: pageParam }) } },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });

/** The runs and holds that touch the last 8 days. */
export const recentRuns = (id: InstanceId) =>
  queryOptions({
    queryKey: ["usage", id, "recent"],
    queryFn: async ({ signal }) => {
      const since = Date.now() - 8 * DAY;
      const items: MeteredRun[] = [];
      let cursor: string | null = null;
      do {
        const query = { limit: 200, ...(cursor && { cursor }) };
        const page: Usage = await call(getInstanceUsage, { path: { id }, query }, { signal });
        items.push(...page.items);
        const last = page.items.at(-1);
        cursor = last && Date.parse(last.started_at) > since ? page.next_cursor : null;
      } while (cursor);
      return items;
    },
  });

const lengths: Record<Exclude<Range, "run">, number> = { "1h": DAY / 24, "24h": DAY, "7d": 7 * DAY };

/** What it used, in a window that ends now or with its last run. */
export const metrics = (id: InstanceId, range: Range, run: { from: string; to: string | null } | null) =>
  queryOptions({
    queryKey: ["metrics", id, range, range === "run" ? run : null],
    queryFn: ({ signal }) => {
      const end = range === "run" && run?.to ? Date.parse(run.to) : Date.now();
      const begin =
        range === "run"
          ? Math.max(run ? Date.parse(run.from) : end - DAY / 24, end - 30 * DAY)
          : end - lengths[range];
      const at = (time: number) => new Date(time).toISOString();
      return call(
        getInstanceMetrics,
        { path: { id }, query: { from: at(Math.min(begin, end - 60_000)), to: at(end) } },
        { signal },
      );
    },
  });

/** How far the newest operation is. */
export const operationOf = (id: OperationId) =>
  queryOptions({
    queryKey: ["operation", id],
    staleTime: 0,
    queryFn: ({ signal }) => call(getInstanceOperation, { path: { id } }, { signal }),
  });

/** Attempts of which lines are kept. */
export const attempts = (id: InstanceId) =>
  queryOptions({
    queryKey: ["logs", id],
    queryFn: async ({ signal }) =>
      (await call(listInstanceLogs, { path: { id }, query: { limit: 50 } }, { signal })).items,
  });

export const shareLinks = (id: InstanceId) =>
  queryOptions({
    queryKey: ["share-links", id],
    queryFn: async ({ signal }) =>
      (await call(listShareLinks, { path: { id }, query: { limit: 200 } }, { signal })).items,
  });

export const sshEndpoint = queryOptions({
  queryKey: ["ssh"],
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: ({ signal }) => call(getSsh, {}, { signal }),
});

export const ownSshKeys = queryOptions({
  queryKey: ["ssh-keys"],
  queryFn: async ({ signal }) => (await call(listSshKeys, { query: { limit: 200 } }, { signal })).items,
});

export const instanceSshKeys = (id: InstanceId) =>
  queryOptions({
    queryKey: ["ssh-keys", id],
    queryFn: async ({ signal }) =>
      (await call(listInstanceSshKeys, { path: { id }, query: { limit: 200 } }, { signal })).items,
  });

/** Names of the people of the studio, by their ids. */
export const people = (id: TenantId) =>
  queryOptions({
    queryKey: ["members", id],
    queryFn: ({ signal }) => call(listMembers, { path: { id }, query: { limit: 200 } }, { signal }),
    select: (page: { items: Member[] }) => new Map(page.items.map((it) => [it.user_id, it.display_name])),
  });
