import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import type { CountedPageInstance, Instance, InstanceId, InstanceState } from "@/api/generated/types";
import { type Compare, sorted, withNew, without } from "@/api/in-place";
import { compareTimes } from "@/lib/time";

export type InstanceSort = "created_at" | "-created_at" | "name" | "-name";

export interface InstanceFilter {
  states?: InstanceState[] | undefined;
  /** What the name contains, in any case. */
  name?: string | undefined;
  /** Newest first if absent. */
  sort?: InstanceSort | undefined;
}

export const keys = {
  lists: ["instances"] as const,
  list: ({ states, name, sort }: InstanceFilter) =>
    [
      "instances",
      { ...(states?.length && { states }), ...(name && { name }), ...(sort && { sort }) },
    ] as const,
  one: (id: InstanceId) => ["instance", id] as const,
};

export type Lists = InfiniteData<CountedPageInstance, string | null>;

/** Instances that show what a press is expected to do: news of the same age says what was before it. */
const pressed = new Map<InstanceId, number>();
/** Deleted ones: an answer that was on its way does not bring them back. */
const gone = new Set<InstanceId>();

const lists = (client: QueryClient) => client.getQueriesData<Lists>({ queryKey: keys.lists });

/** What is known of an instance, by whichever request. */
export function knownInstance(client: QueryClient, id: InstanceId): Instance | undefined {
  const one = client.getQueryData<Instance>(keys.one(id));
  if (one) return one;
  for (const [, data] of lists(client))
    for (const page of data?.pages ?? []) {
      const found = page.items.find((it) => it.id === id);
      if (found) return found;
    }
  return undefined;
}

/** Every instance that is known, once. */
export function knownInstances(client: QueryClient): Instance[] {
  const found = new Map<InstanceId, Instance>();
  for (const [, data] of lists(client))
    for (const page of data?.pages ?? []) for (const it of page.items) found.set(it.id, it);
  for (const [, it] of client.getQueriesData<Instance>({ queryKey: ["instance"] }))
    if (it) found.set(it.id, it);
  return [...found.values()];
}

function isNews(known: Instance | undefined, news: Instance): boolean {
  if (!known) return true;
  const order = compareTimes(news.updated_at, known.updated_at);
  return order > 0 || (order === 0 && !pressed.has(news.id));
}

/** The newer of what is known and what was answered. */
export function newest(client: QueryClient, answer: Instance): Instance {
  const known = knownInstance(client, answer.id);
  return known && !isNews(known, answer) ? known : answer;
}

/** An answer of the list, with what has become known since it was asked for. */
export const newestPage = (client: QueryClient, page: CountedPageInstance): CountedPageInstance => ({
  ...page,
  items: page.items.filter((it) => !gone.has(it.id)).map((it) => newest(client, it)),
});

/** The only writer of instances: older news never wins. */
export function putInstance(client: QueryClient, news: Instance) {
  if (gone.has(news.id) || !isNews(knownInstance(client, news.id), news)) return;
  write(client, news);
}

function write(client: QueryClient, it: Instance) {
  if (client.getQueryState(keys.one(it.id))) client.setQueryData(keys.one(it.id), it);
  for (const [key] of lists(client))
    client.setQueryData<Lists>(key, (data) => data && withInstance(data, key[1] as InstanceFilter, it));
}

const matches = ({ states, name }: InstanceFilter, it: Instance) =>
  (!states?.length || states.includes(it.state)) &&
  (!name || it.name.toLowerCase().includes(name.toLowerCase()));

const byName: Compare<Instance> = (a, b) => {
  const [one, other] = [a.name.toLowerCase(), b.name.toLowerCase()];
  return one === other ? 0 : one < other ? -1 : 1;
};
const orders: Record<InstanceSort, Compare<Instance>> = {
  created_at: sorted("created_at", () => 0),
  "-created_at": sorted("-created_at", () => 0),
  name: sorted("name", byName),
  "-name": sorted("-name", byName),
};

/**
 * The list with the instance in its place. One that stopped matching the filter stays until the list is read again, so that a press does not take its row away.
 */
function withInstance(data: Lists, filter: InstanceFilter, it: Instance): Lists {
  const has = data.pages.some((page) => page.items.some((other) => other.id === it.id));
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

/** It does not exist any more. */
export function dropInstance(client: QueryClient, id: InstanceId) {
  gone.add(id);
  for (const [key] of lists(client))
    client.setQueryData<Lists>(key, (data) =>
      data?.pages.some((page) => page.items.some((it) => it.id === id))
        ? without(data, (it: Instance) => it.id === id)
        : data,
    );
  void client.invalidateQueries({ queryKey: keys.one(id) });
}

/** Shows what a press is expected to do. `settle` ends it with the answer, `undo` with a refusal. */
export function expectInstance(client: QueryClient, id: InstanceId, change: Partial<Instance>) {
  const before = knownInstance(client, id);
  pressed.set(id, (pressed.get(id) ?? 0) + 1);
  const end = () => {
    const left = (pressed.get(id) ?? 1) - 1;
    if (left > 0) pressed.set(id, left);
    else pressed.delete(id);
  };
  if (before) write(client, { ...before, ...change });
  return {
    settle: (answer: Instance) => {
      end();
      putInstance(client, answer);
    },
    undo: () => {
      end();
      const shown = knownInstance(client, id);
      if (before && shown && compareTimes(shown.updated_at, before.updated_at) === 0) write(client, before);
    },
  };
}
