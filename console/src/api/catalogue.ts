import { queryOptions } from "@tanstack/react-query";
import { call } from "./client";
import {
  getBudget,
  getQuota,
  listDatacenters,
  listGpuSpecs,
  listOffers,
  listServices,
  listStock,
  listStorageOffers,
  listStorageSpecs,
  listStorages,
  quoteInstance,
} from "./generated/operations";
import type { NewInstance } from "./generated/types";
import type { Operation } from "./operation";

interface Paged {
  query?: { limit?: number; cursor?: string };
}
interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}

/** Lists that a form shows whole: the API gives at most 200 at a time. */
export async function all<Request extends Paged, Item>(
  operation: Operation<Request, Page<Item>>,
  query: NonNullable<Request["query"]>,
  signal: AbortSignal,
): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | null = null;
  do {
    const request = { query: { ...query, limit: 200, ...(cursor && { cursor }) } } as Request;
    const page: Page<Item> = await call(operation as Operation<Paged, Page<Item>>, request, { signal });
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor);
  return items;
}

/** Specifications for sale. */
export const gpuSpecs = queryOptions({
  queryKey: ["gpu-specs"],
  queryFn: ({ signal }) => all(listGpuSpecs, { state: "active" }, signal),
});

/** How many units of each specification are free in each datacenter. */
export const stock = queryOptions({
  queryKey: ["stock"],
  staleTime: 5_000,
  queryFn: ({ signal }) => all(listStock, {}, signal),
});

export const services = queryOptions({
  queryKey: ["services"],
  queryFn: ({ signal }) => all(listServices, {}, signal),
});

export const datacenters = queryOptions({
  queryKey: ["datacenters"],
  queryFn: ({ signal }) => all(listDatacenters, {}, signal),
});

export const storages = queryOptions({
  queryKey: ["storages", "all"],
  queryFn: ({ signal }) => all(listStorages, {}, signal),
});

export const storageSpecs = queryOptions({
  queryKey: ["storage-specs"],
  queryFn: ({ signal }) => all(listStorageSpecs, { state: "active" }, signal),
});

/** What the tenant may use at a time, and uses. */
export const quota = queryOptions({
  queryKey: ["quota"],
  queryFn: ({ signal }) => call(getQuota, {}, { signal }),
});

/** Null for a tenant without a budget. */
export const budget = queryOptions({
  queryKey: ["budget"],
  queryFn: async ({ signal }) => (await call(getBudget, {}, { signal })) ?? null,
});

/** What an order would cost, and whether it would start now. */
export const quote = (order: NewInstance) =>
  queryOptions({
    queryKey: ["quote", order],
    staleTime: 10_000,
    queryFn: ({ signal }) => call(quoteInstance, { body: order }, { signal }),
  });

/** What is for sale and where there is room, for everybody. */
export const offers = queryOptions({
  queryKey: ["offers"],
  queryFn: ({ signal }) => all(listOffers, {}, signal),
});

export const storageOffers = queryOptions({
  queryKey: ["storage-offers"],
  queryFn: ({ signal }) => all(listStorageOffers, {}, signal),
});
