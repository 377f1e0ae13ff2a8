import { jobUsageOf } from "../jobs/usage.ts";
import { pageOf } from "../page.ts";
import type { Handlers } from "../types.ts";
import { Refusal } from "../types.ts";
import { budgetOf, usageOf } from "../usage.ts";

const DAY = 86_400_000;

const wrong = (detail: string) => new Refusal("invalid-field", { errors: [{ pointer: "/from", detail }] });

function windowOf(query: { from?: string; to?: string }) {
  const to = query.to ? Date.parse(query.to) : Date.now();
  const from = query.from ? Date.parse(query.from) : to - 30 * DAY;
  if (from >= to) throw wrong("must be before `to`");
  if (to - from > 366 * DAY) throw wrong("must be at most 366 days before `to`");
  return { from, to };
}

export const usageHandlers = {
  listUsage: ({ backend, caller, query }) => {
    const by = query.group_by ?? "instance";
    return pageOf(usageOf(backend, caller.session.tenant_id, { ...windowOf(query), by }), query);
  },
  listJobUsage: ({ backend, caller, query }) => {
    const by = query.group_by ?? "day";
    return pageOf(jobUsageOf(backend, caller.session.tenant_id, { ...windowOf(query), by }), query);
  },
  getBudget: ({ backend, caller }) => {
    const { tenant_id } = caller.session;
    if (!backend.budget || !tenant_id || backend.tenants[0]?.id !== tenant_id) return undefined;
    return budgetOf(backend, tenant_id, backend.budget);
  },
} satisfies Partial<Handlers>;
