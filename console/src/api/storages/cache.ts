import type { InfiniteData, QueryClient, QueryKey } from "@tanstack/react-query";
import type {
  CountedPageStorage,
  Storage,
  StorageId,
  StorageKind,
  StorageState,
} from "@/api/generated/types";
import { compareTimes } from "@/lib/time";

export type StorageSort = "created_at" | "-created_at" | "name" | "-name" | "size_gib" | "-size_gib";

export interface StorageFilter {
  states?: readonly StorageState[] | undefined;
  kind?: StorageKind | undefined;
  /** What the name contains, in any case. */
  name?: string | undefined;
  /** Newest first if absent. */
  sort?: StorageSort | undefined;
}

export const keys = {
  /** Whatever lists storages. */
  lists: ["storages"] as const,
  all: ["storages", "all"] as const,
  pages: ["storages", "pages"] as const,
  page: ({ states, kind, name, sort }: StorageFilter) =>
    [
      "storages",
      "pages",
      {
        ...(states?.length && { states }),
        ...(kind && { kind }),
        ...(name && { name }),
        ...(sort && { sort }),
      },
    ] as const,
  one: (id: StorageId) => ["storage", id] as const,
  quota: ["storage-quota"] as const,
};

type Pages = InfiniteData<CountedPageStorage, string | null>;

/** Deleted ones: an answer that was on its way does not bring them back. */
const gone = new Set<StorageId>();

const lists = (client: QueryClient) => client.getQueriesData<Pages>({ queryKey: keys.pages });

/** Every storage that is known, once, in the order of the lists. */
export function knownStorages(client: QueryClient): Storage[] {
  const found = new Map<StorageId, Storage>();
  for (const [, data] of lists(client))
    for (const page of data?.pages ?? []) for (const it of page.items) found.set(it.id, it);
  for (const it of client.getQueryData<Storage[]>(keys.all) ?? [])
    if (!found.has(it.id)) found.set(it.id, it);
  for (const [, it] of client.getQueriesData<Storage>({ queryKey: ["storage"] }))
    if (it) found.set(it.id, it);
  return [...found.values()];
}

/** The newer of what is known and what was answered. */
export function newest(client: QueryClient, answer: Storage): Storage {
  const known = knownStorages(client).find((it) => it.id === answer.id);
  return known && compareTimes(answer.updated_at, known.updated_at) < 0 ? known : answer;
}

/** An answer of the list, with what has become known since it was asked for. */
export const newestPage = (client: QueryClient, page: CountedPageStorage): CountedPageStorage => ({
  ...page,
  items: page.items.filter((it) => !gone.has(it.id)).map((it) => newest(client, it)),
});

const has = (items: readonly Storage[] | undefined, id: StorageId) =>
  items?.some((it) => it.id === id) ?? false;

/** In every list that has it. A list does not become newer by it: what else is old in it is still read again. */
function change(client: QueryClient, id: StorageId, edit: (items: Storage[]) => Storage[]) {
  const set = <Data>(key: QueryKey, data: Data) =>
    client.setQueryData<Data>(key, data, { updatedAt: client.getQueryState(key)?.dataUpdatedAt ?? 0 });
  for (const [key, data] of lists(client))
    if (data?.pages.some((page) => has(page.items, id)))
      set<Pages>(key, {
        ...data,
        pages: data.pages.map((page) => ({ ...page, items: edit(page.items) })),
      });
  const all = client.getQueryData<Storage[]>(keys.all);
  if (all && has(all, id)) set<Storage[]>(keys.all, edit(all));
}

/** Shows what was answered of one storage: older news never wins. One that a list does not have is read with the list. */
export function putStorage(client: QueryClient, answer: Storage) {
  if (gone.has(answer.id)) return;
  const news = newest(client, answer);
  if (client.getQueryState(keys.one(news.id))) client.setQueryData(keys.one(news.id), news);
  change(client, news.id, (items) => items.map((it) => (it.id === news.id ? news : it)));
}

/** It does not exist any more: its size is free again. */
export function dropStorage(client: QueryClient, id: StorageId) {
  gone.add(id);
  change(client, id, (items) => items.filter((it) => it.id !== id));
  void client.invalidateQueries({ queryKey: keys.one(id) });
  void client.invalidateQueries({ queryKey: keys.quota });
}
