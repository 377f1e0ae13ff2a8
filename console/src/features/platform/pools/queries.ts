import { queryOptions } from "@tanstack/react-query";
import { all } from "@/api/catalogue";
import { call } from "@/api/client";
import {
  getPlatformPool,
  getPlatformPoolShare,
  getPoolCapacity,
  listPlatformPoolShares,
  listPlatformPools,
  listPlatformWorkers,
} from "@/api/generated/operations";
import type { PoolId, TenantId } from "@/api/generated/types";
import { pagesOf } from "@/api/pages";

export const pools = pagesOf(["platform", "pools", "list"], listPlatformPools, {});

/** For a pool like another one. */
export const everyPool = queryOptions({
  queryKey: ["platform", "pools", "every"],
  queryFn: ({ signal }) => all(listPlatformPools, {}, signal),
});

export const pool = (id: PoolId) =>
  queryOptions({
    queryKey: ["platform", "pools", "one", id],
    queryFn: ({ signal }) => call(getPlatformPool, { path: { id } }, { signal }),
  });

export const capacity = (id: PoolId) =>
  queryOptions({
    queryKey: ["platform", "pools", "capacity", id],
    staleTime: 2_000,
    queryFn: ({ signal }) => call(getPoolCapacity, { path: { id } }, { signal }),
  });

export const workers = (id: PoolId) =>
  pagesOf(["platform", "pools", "workers", id], listPlatformWorkers, { path: { id } });

export const shares = (id: PoolId) =>
  pagesOf(["platform", "pools", "shares", id], listPlatformPoolShares, { path: { id } });

/** The version that is changed; null for a tenant without a share of its own. */
export const share = (id: PoolId, tenant_id: TenantId) =>
  queryOptions({
    queryKey: ["platform", "pools", "share", id, tenant_id],
    staleTime: 0,
    queryFn: async ({ signal }) =>
      (await call(getPlatformPoolShare, { path: { id, tenant_id } }, { signal })) ?? null,
  });
