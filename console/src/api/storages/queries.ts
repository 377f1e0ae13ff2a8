import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import {
  getStorage,
  getStorageQuota,
  listStorageCredentials,
  listStorageOperations,
  listStorages,
} from "@/api/generated/operations";
import type { StorageId } from "@/api/generated/types";
import { keys, newest, newestPage, type StorageFilter } from "./cache";

const PAGE = 100;

/** The tenant's storages, newest first if the filter names no order. */
export const storagePages = (filter: StorageFilter = {}) =>
  infiniteQueryOptions({
    queryKey: keys.page(filter),
    queryFn: async ({ pageParam, signal, client }) =>
      newestPage(
        client,
        await call(
          listStorages,
          {
            query: {
              limit: PAGE,
              ...(filter.states?.length && { state: [...filter.states] }),
              ...(filter.kind && { kind: filter.kind }),
              ...(filter.name && { name: filter.name }),
              ...(filter.sort && { sort: filter.sort }),
              // the first page tells the number of all
              ...(pageParam ? { cursor: pageParam } : { include: ["total" as const] }),
            },
          },
          { signal },
        ),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });

export const storage = (id: StorageId) =>
  queryOptions({
    queryKey: keys.one(id),
    queryFn: async ({ signal, client }) =>
      newest(client, await call(getStorage, { path: { id } }, { signal })),
  });

/** How many storages of which size the tenant may have, and has. */
export const storageQuota = queryOptions({
  queryKey: keys.quota,
  staleTime: 5_000,
  queryFn: ({ signal }) => call(getStorageQuota, {}, { signal }),
});

/** What was asked of a storage, newest first. */
export const storageOperations = (id: StorageId) =>
  infiniteQueryOptions({
    queryKey: ["storage-operations", id],
    queryFn: ({ pageParam, signal }) =>
      call(
        listStorageOperations,
        { query: { limit: 50, storage_id: id, ...(pageParam && { cursor: pageParam }) } },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });

/** Access keys of a bucket, oldest first: 50 at most. */
export const bucketKeys = (id: StorageId) =>
  queryOptions({
    queryKey: ["bucket-keys", id],
    queryFn: async ({ signal }) =>
      (await call(listStorageCredentials, { path: { id }, query: { limit: 200 } }, { signal })).items,
  });
