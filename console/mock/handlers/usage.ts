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
  listUsage: ({ world, caller, query }) => {
    const by = query.group_by ?? "instance";
    return pageOf(usageOf(world, caller.session.tenant_id, { ...windowOf(query), by }), query);
  },
  listJobUsage: ({ world, caller, query }) => {
    const by = query.group_by ?? "day";
    return pageOf(jobUsageOf(world, caller.session.tenant_id, { ...windowOf(query), by }), query);
  },
  getBudget: ({ world, caller }) => {
    const { tenant_id } = caller.session;
    if (!world.budget || !tenant_id || world.tenants[0]?.id !== tenant_id) return undefined;
    return budgetOf(world, tenant_id, world.budget);
  },
} satisfies Partial<Handlers>;
