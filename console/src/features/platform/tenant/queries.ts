import { queryOptions, skipToken } from "@tanstack/react-query";
import { call } from "@/api/client";
import {
  getPlatformBudget,
  getPlatformQuota,
  getPlatformStorageQuota,
  getTenant,
  getTenantOperation,
  listInvitations,
  listMembers,
  listPlatformInstances,
  listPlatformJobUsage,
  listPlatformPoolShares,
  listPlatformPools,
  listPlatformStorages,
  listPlatformUsage,
} from "@/api/generated/operations";
import type { OperationId, PoolShare, TenantId } from "@/api/generated/types";
import { monthStart } from "../parts/month";
import { isCarriedOut } from "../parts/tenant-standing";

const MOST = 200;
/** While something moves and the page is seen, in milliseconds. */
export const SOON = 2000;

/** A query holds no undefined. */
const orNull = async <Value>(value: Promise<Value>) => (await value) ?? null;

export const tenant = (id: TenantId) =>
  queryOptions({
    queryKey: ["platform", "tenants", "one", id],
    queryFn: ({ signal }) => call(getTenant, { path: { id } }, { signal }),
    refetchInterval: ({ state: { data, error } }) =>
      data && !error && (data.state === "deleting" || !isCarriedOut(data)) ? SOON : false,
  });

/** The operation is known to whoever has begun it, by the address. */
export const deletion = (id: OperationId | undefined) =>
  queryOptions({
    queryKey: ["platform", "tenant-operations", id],
    queryFn: id ? ({ signal }) => call(getTenantOperation, { path: { id } }, { signal }) : skipToken,
    refetchInterval: ({ state: { data } }) => (data && data.finished_at === null ? SOON : false),
  });

export const members = (id: TenantId) =>
  queryOptions({
    queryKey: ["platform", "members", id],
    queryFn: ({ signal }) => call(listMembers, { path: { id }, query: { limit: MOST } }, { signal }),
  });

export const invitations = (id: TenantId) =>
  queryOptions({
    queryKey: ["platform", "invitations", id],
    queryFn: ({ signal }) => call(listInvitations, { path: { id }, query: { limit: MOST } }, { signal }),
  });

/** The newest of the tenant: all of them, unless there are more than one page. */
export const tenantInstances = (tenant_id: TenantId) =>
  queryOptions({
    queryKey: ["platform", "instances", "of", tenant_id],
    queryFn: ({ signal }) => call(listPlatformInstances, { query: { tenant_id, limit: MOST } }, { signal }),
  });

export const tenantStorages = (tenant_id: TenantId) =>
  queryOptions({
    queryKey: ["platform", "storages", "of", tenant_id],
    queryFn: ({ signal }) => call(listPlatformStorages, { query: { tenant_id, limit: MOST } }, { signal }),
  });

/** Null for a tenant without limits. */
export const quota = (tenant_id: TenantId) =>
  queryOptions({
    queryKey: ["platform", "quotas", tenant_id],
    queryFn: ({ signal }) => orNull(call(getPlatformQuota, { path: { tenant_id } }, { signal })),
  });

export const storageQuota = (tenant_id: TenantId) =>
  queryOptions({
    queryKey: ["platform", "storage-quotas", tenant_id],
    queryFn: ({ signal }) => orNull(call(getPlatformStorageQuota, { path: { tenant_id } }, { signal })),
  });

export const budget = (tenant_id: TenantId) =>
  queryOptions({
    queryKey: ["platform", "budgets", tenant_id],
    queryFn: ({ signal }) => orNull(call(getPlatformBudget, { path: { tenant_id } }, { signal })),
  });

export const usage = (tenant_id: TenantId, group_by: "day" | "spec" | "tenant") =>
  queryOptions({
    queryKey: ["platform", "usage", tenant_id, group_by],
    queryFn: ({ signal }) =>
      call(
        listPlatformUsage,
        { query: { tenant_id, from: monthStart(Date.now()), group_by, limit: MOST } },
        { signal },
      ),
  });

export const jobUsage = (tenant_id: TenantId) =>
  queryOptions({
    queryKey: ["platform", "job-usage", tenant_id],
    queryFn: ({ signal }) =>
      call(
        listPlatformJobUsage,
        { query: { tenant_id, from: monthStart(Date.now()), group_by: "day", limit: MOST } },
        { signal },
      ),
  });

/** There are few pools, and shares are listed by pool only. */
const POOLS = 8;

export const poolShares = (tenant_id: TenantId) =>
  queryOptions({
    queryKey: ["platform", "pools", "shares-of", tenant_id],
    queryFn: async ({ signal }) => {
      const pools = await call(listPlatformPools, { query: { limit: POOLS } }, { signal });
      return Promise.all(
        pools.items.map(async (pool) => {
          const shares = await call(
            listPlatformPoolShares,
            { path: { id: pool.id }, query: { limit: MOST } },
            { signal },
          );
          const own: PoolShare | undefined = shares.items.find((it) => it.tenant_id === tenant_id);
          return { pool, share: own?.share ?? null };
        }),
      );
    },
  });
