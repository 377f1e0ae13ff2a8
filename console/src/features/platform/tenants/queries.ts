import { queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import {
  listPlatformBudgets,
  listPlatformQuotas,
  listPlatformUsage,
  listTenants,
} from "@/api/generated/operations";
import type { TenantState } from "@/api/generated/types";
import { pagesOf } from "@/api/pages";
import { monthStart } from "../parts/month";

export interface TenantFilter {
  name?: string | undefined;
  state?: TenantState | undefined;
}

/** All of a list that is shown beside another; the API gives at most so many at a time. */
const MOST = 200;

export const tenants = ({ name, state }: TenantFilter = {}) =>
  pagesOf(["platform", "tenants", "list", name ?? "", state ?? ""], listTenants, {
    query: { ...(name && { name_prefix: name }), ...(state && { state }) },
  });

export const budgets = queryOptions({
  queryKey: ["platform", "budgets"],
  queryFn: ({ signal }) => call(listPlatformBudgets, { query: { limit: MOST } }, { signal }),
  select: ({ items }) => new Map(items.map((it) => [it.tenant_id, it.terms])),
});

export const quotas = queryOptions({
  queryKey: ["platform", "quotas"],
  queryFn: ({ signal }) => call(listPlatformQuotas, { query: { limit: MOST } }, { signal }),
  select: ({ items }) => new Map(items.map((it) => [it.tenant_id, it.limits])),
});

/** What each tenant has spent since the month began. */
export const spending = queryOptions({
  queryKey: ["platform", "usage", "tenants"],
  queryFn: ({ signal }) =>
    call(
      listPlatformUsage,
      { query: { from: monthStart(Date.now()), group_by: "tenant", limit: MOST } },
      { signal },
    ),
});
