import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import type { Job, JobId, JobKind, JobLevel, JobState, PageJob } from "@/api/generated/types";

export interface JobFilter {
  state?: JobState | undefined;
  kind?: JobKind | undefined;
  level?: JobLevel | undefined;
  group?: string | undefined;
}

export const jobKeys = {
  lists: ["jobs"] as const,
  list: ({ state, kind, level, group }: JobFilter) =>
    [
      "jobs",
      { ...(state && { state }), ...(kind && { kind }), ...(level && { level }), ...(group && { group }) },
    ] as const,
  one: (id: JobId) => ["job", id] as const,
  artifacts: (id: JobId) => ["artifacts", id] as const,
};

export type JobLists = InfiniteData<PageJob, string | null>;

const ended = new Set<JobState>(["succeeded", "failed", "cancelled", "expired"]);
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

const matches = ({ state, kind, level, group }: JobFilter, it: Job) =>
  (!state || it.state === state) &&
  (!kind || it.kind === kind) &&
  (!level || it.level === level) &&
  (!group || it.group === group);

/** The list with the job in its place: ids sort by their creation, newest first. One that stopped matching leaves it. */
export function withJob(data: JobLists, filter: JobFilter, it: Job): JobLists {
  const has = data.pages.some((page) => page.items.some((other) => other.id === it.id));
  const change = (at: (items: Job[], index: number) => Job[]): JobLists => ({
    ...data,
    pages: data.pages.map((page, index) => ({ ...page, items: at(page.items, index) })),
  });
  if (has)
    return change((items) =>
      matches(filter, it)
        ? items.map((other) => (other.id === it.id ? it : other))
        : items.filter((other) => other.id !== it.id),
    );
  if (!matches(filter, it)) return data;
  const page = data.pages.findIndex(
    ({ next_cursor, items }) => next_cursor === null || items.some((other) => other.id < it.id),
  );
  if (page < 0) return data;
  return change((items, index) => {
    if (index !== page) return items;
    const place = items.findIndex((other) => other.id < it.id);
    return items.toSpliced(place < 0 ? items.length : place, 0, it);
  });
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
