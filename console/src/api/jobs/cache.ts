import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import type { CountedPageJob, Job, JobId, JobKind, JobLevel, JobState } from "@/api/generated/types";
import { type Compare, sorted, withNew, without } from "@/api/in-place";
import { parseAmount } from "@/lib/money";
import { compareTimes } from "@/lib/time";
import { ends } from "./states";

export type JobSort = "created_at" | "-created_at" | "ended_at" | "-ended_at" | "cost" | "-cost";

export interface JobFilter {
  /** Any if there is none. */
  states?: readonly JobState[] | undefined;
  kind?: JobKind | undefined;
  level?: JobLevel | undefined;
  group?: string | undefined;
  sort?: JobSort | undefined;
}

export const jobKeys = {
  lists: ["jobs"] as const,
  list: ({ states, kind, level, group, sort }: JobFilter) =>
    [
      "jobs",
      {
        ...(states?.length && { states }),
        ...(kind && { kind }),
        ...(level && { level }),
        ...(group && { group }),
        ...(sort && { sort }),
      },
    ] as const,
  one: (id: JobId) => ["job", id] as const,
  artifacts: (id: JobId) => ["artifacts", id] as const,
};

export type JobLists = InfiniteData<CountedPageJob, string | null>;

const ended = new Set<JobState>(ends);
export const hasEnded = ({ state }: Pick<Job, "state">) => ended.has(state);

/**
 * A job has no time of its last change. What was asked for later is newer: each reading takes a number before it is sent,
 * and an answer with a lower number than what is known is dropped. Final states never change.
 */
let last = 0;
const known = new Map<JobId, number>();
/** What presses are expected to do: the answer may say otherwise. */
const expected = new WeakSet<Job>();
export const askedAt = () => ++last;

const lists = (client: QueryClient) => client.getQueriesData<JobLists>({ queryKey: jobKeys.lists });

/** What is known of a job, by whichever request. */
export function knownJob(client: QueryClient, id: JobId): Job | undefined {
  const one = client.getQueryData<Job>(jobKeys.one(id));
  if (one) return one;
  for (const [, data] of lists(client))
    for (const page of data?.pages ?? []) {
      const found = page.items.find((it) => it.id === id);
      if (found) return found;
    }
  return undefined;
}

/** The newer of what is known and what was answered. */
export function newestJob(client: QueryClient, answer: Job, asked: number): Job {
  const shown = knownJob(client, answer.id);
  if (!shown) return answer;
  const isOver = hasEnded(shown) && !hasEnded(answer) && !expected.has(shown);
  return isOver || (known.get(answer.id) ?? 0) > asked ? shown : answer;
}

/** The only writer of jobs: older news never wins. */
export function putJob(client: QueryClient, news: Job, asked: number) {
  if (newestJob(client, news, asked) !== news) return;
  known.set(news.id, asked);
  write(client, news);
}

function write(client: QueryClient, it: Job) {
  client.setQueryData(jobKeys.one(it.id), it);
  for (const [key] of lists(client))
    client.setQueryData<JobLists>(key, (data) => data && withJob(data, key[1] as JobFilter, it));
}

const matches = ({ states, kind, level, group }: JobFilter, it: Job) =>
  (!states?.length || states.includes(it.state)) &&
  (!kind || it.kind === kind) &&
  (!level || it.level === level) &&
  (!group || it.group === group);

const byEnd: Compare<Job> = (a, b) => {
  if (!a.ended_at || !b.ended_at) return Number(!a.ended_at) - Number(!b.ended_at);
  return compareTimes(a.ended_at, b.ended_at);
};
const byCost: Compare<Job> = (a, b) => {
  const [one, other] = [a, b].map(({ cost }) => parseAmount(cost?.amount ?? "0"));
  return one === other ? 0 : (one ?? 0) < (other ?? 0) ? -1 : 1;
};
const orders: Record<JobSort, Compare<Job>> = {
  created_at: sorted("created_at", () => 0),
  "-created_at": sorted("-created_at", () => 0),
  ended_at: sorted("ended_at", byEnd),
  "-ended_at": sorted("-ended_at", byEnd),
  cost: sorted("cost", byCost),
  "-cost": sorted("-cost", byCost),
};

/** The list with the job in its place. One that stopped matching leaves it. */
export function withJob(data: JobLists, filter: JobFilter, it: Job): JobLists {
  const has = data.pages.some((page) => page.items.some((other) => other.id === it.id));
  if (has && !matches(filter, it)) return without(data, (other: Job) => other.id === it.id);
  if (has)
    return {
      ...data,
      pages: data.pages.map((page) => ({
        ...page,
        items: page.items.map((other) => (other.id === it.id ? it : other)),
      })),
    };
  return matches(filter, it) ? withNew(data, it, orders[filter.sort ?? "-created_at"]) : data;
}

/** What a press is expected to do is shown at once. Returns what puts it back after a refusal. */
export function expectJob(client: QueryClient, id: JobId, change: Partial<Job>): () => void {
  const before = knownJob(client, id);
  if (!before) return () => undefined;
  const shown = { ...before, ...change };
  known.set(id, askedAt());
  expected.add(shown);
  write(client, shown);
  return () => {
    if (knownJob(client, id) === shown) write(client, before);
  };
}
