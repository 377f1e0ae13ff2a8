import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { type CapacityPeriod, capacityPeriods } from "./capacity-periods";
import { all } from "./catalogue";
import { call } from "./client";
import {
  getDatacenter,
  getGpuSpec,
  getPlatformHealth,
  getPlatformIsolation,
  getService,
  getStockCapacity,
  getStockUnit,
  getStorageSpec,
  listGpuSpecPrices,
  listGpuSpecs,
  listStockOperations,
  listStockRepairs,
  listStockUnits,
  listStorageSpecs,
  listTenants,
} from "./generated/operations";
import type {
  GpuSpecId,
  ImageId,
  InstanceId,
  StorageSpecId,
  TenantId,
  UnitId,
  UnitState,
} from "./generated/types";
import { stockOperationsKey } from "./stock-keys";

/** As many operations may be in progress: the first page has all of them. */
const OPERATIONS = 50;
const PAGE = 100;

/** A read that is paged by a cursor. */
const paged = { initialPageParam: null as string | null };
const nextOf = (page: { next_cursor: string | null }) => page.next_cursor;
const at = (limit: number, cursor: string | null) => ({ limit, ...(cursor && { cursor }) });

/** Additions and removals, newest first. */
export const stockOperations = infiniteQueryOptions({
  queryKey: stockOperationsKey,
  staleTime: 5_000,
  queryFn: ({ pageParam, signal }) =>
    call(listStockOperations, { query: at(OPERATIONS, pageParam) }, { signal }),
  ...paged,
  getNextPageParam: nextOf,
});

/** Repaired drift, newest first. */
export const stockRepairs = infiniteQueryOptions({
  queryKey: ["stock-repairs"],
  queryFn: ({ pageParam, signal }) => call(listStockRepairs, { query: at(20, pageParam) }, { signal }),
  ...paged,
  getNextPageParam: nextOf,
});

export interface UnitFilter {
  gpu_spec?: string | undefined;
  datacenter?: string | undefined;
  state?: UnitState | undefined;
  node?: string | undefined;
  instance_id?: InstanceId | undefined;
  tenant_id?: TenantId | undefined;
}

export const stockUnits = (filter: UnitFilter) =>
  infiniteQueryOptions({
    queryKey: ["stock-units", filter],
    staleTime: 5_000,
    queryFn: ({ pageParam, signal }) =>
      call(listStockUnits, { query: { ...filter, ...at(PAGE, pageParam) } }, { signal }),
    ...paged,
    getNextPageParam: nextOf,
  });

export const stockUnit = (id: UnitId) =>
  queryOptions({
    queryKey: ["stock-unit", id],
    staleTime: 5_000,
    queryFn: ({ signal }) => call(getStockUnit, { path: { id } }, { signal }),
  });

/** Units are counted every minute. */
const COUNTED = 60_000;

/** How many units there were until now, of one datacenter or all. */
export const stockCapacity = (
  filter: { datacenter?: string; gpu_spec?: string | undefined },
  period: CapacityPeriod,
) =>
  queryOptions({
    queryKey: ["stock-capacity", filter, period],
    staleTime: COUNTED,
    refetchInterval: period === "day" ? COUNTED : false,
    queryFn: ({ signal }) => {
      const { days, step } = capacityPeriods[period];
      const from = new Date(Date.now() - days * 86_400_000).toISOString();
      return call(getStockCapacity, { query: { ...filter, step, from } }, { signal });
    },
  });

/** Retired ones too. */
export const everyGpuSpec = queryOptions({
  queryKey: ["gpu-specs", "every"],
  queryFn: ({ signal }) => all(listGpuSpecs, {}, signal),
});

/** Also reads its ETag, which a change sends. */
export const gpuSpec = (id: GpuSpecId) =>
  queryOptions({
    queryKey: ["gpu-specs", "one", id],
    queryFn: ({ signal }) => call(getGpuSpec, { path: { id } }, { signal }),
  });

/** Newest first. */
export const gpuSpecPrices = (id: GpuSpecId) =>
  infiniteQueryOptions({
    queryKey: ["gpu-specs", "prices", id],
    queryFn: ({ pageParam, signal }) =>
      call(listGpuSpecPrices, { path: { id }, query: at(PAGE, pageParam) }, { signal }),
    ...paged,
    getNextPageParam: nextOf,
  });

/** Retired ones too. */
export const everyStorageSpec = queryOptions({
  queryKey: ["storage-specs", "every"],
  queryFn: ({ signal }) => all(listStorageSpecs, {}, signal),
});

/** By id, as changes name it, so that its ETag is read at the same path. */
export const storageSpec = (id: StorageSpecId) =>
  queryOptions({
    queryKey: ["storage-specs", "one", id],
    queryFn: ({ signal }) => call(getStorageSpec, { path: { id } }, { signal }),
  });

export const service = (id: ImageId) =>
  queryOptions({
    queryKey: ["services", "one", id],
    queryFn: ({ signal }) => call(getService, { path: { id } }, { signal }),
  });

/** By id, as changes name it, so that its ETag is read at the same path. */
export const datacenter = (id: string) =>
  queryOptions({
    queryKey: ["datacenters", "one", id],
    queryFn: ({ signal }) => call(getDatacenter, { path: { id } }, { signal }),
  });

/** Whether code of tenants runs, by datacenter. */
export const isolation = queryOptions({
  queryKey: ["isolation"],
  queryFn: ({ signal }) => call(getPlatformIsolation, {}, { signal }),
});

export const platformHealth = queryOptions({
  queryKey: ["platform-health"],
  staleTime: 10_000,
  queryFn: ({ signal }) => call(getPlatformHealth, {}, { signal }),
});

/** Names of the first 200 tenants: a list shows the id of others. */
export const tenantNames = queryOptions({
  queryKey: ["tenant-names"],
  queryFn: async ({ signal }) => {
    const { items } = await call(listTenants, { query: { limit: 200 } }, { signal });
    return new Map(items.map(({ id, name }) => [id, name]));
  },
});
