import { queryOptions, useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { listTenants, listUsers } from "@/api/generated/operations";
import type { TenantId, UserId } from "@/api/generated/types";
import { shortId } from "@/lib/ids";

/** Lists have ids only. Names of the oldest are read in one request each; others are shown by the end of their id. */
const MOST = 200;

const tenantNames = queryOptions({
  queryKey: ["platform", "tenants", "names"],
  staleTime: 60_000,
  queryFn: ({ signal }) => call(listTenants, { query: { limit: MOST } }, { signal }),
  select: ({ items }) => new Map(items.map((it) => [it.id, it.name])),
});

const personNames = queryOptions({
  queryKey: ["platform", "users", "names"],
  staleTime: 60_000,
  queryFn: ({ signal }) => call(listUsers, { query: { limit: MOST } }, { signal }),
  select: ({ items }) => new Map(items.map((it) => [it.id, it.display_name])),
});

export function useTenantName(): (id: TenantId) => string {
  const { data } = useQuery(tenantNames);
  return (id) => data?.get(id) ?? shortId(id);
}

export function usePersonName(): (id: UserId) => string {
  const { data } = useQuery(personNames);
  return (id) => data?.get(id) ?? shortId(id);
}

/** For a choice of tenants: the oldest, by name. */
export function useTenantChoices() {
  const { data } = useQuery(tenantNames);
  return [...(data ?? [])]
    .map(([value, label]) => ({ value, label }))
    .sort((a, b) => a.label.localeCompare(b.label));
}
