import type { StreamNotice } from "../src/api/generated/types";
import { parseAmount, toDecimal } from "../src/lib/money";
import { makeSortedId } from "./ids.ts";
import { now } from "./times.ts";
import { budgetOf } from "./usage.ts";
import type { World } from "./world.ts";

/** What a test changes in the world, as others of the studio or the platform would. */
export interface Change {
  /** Free units of a specification, in one datacenter or in all. */
  stock?: { spec: string; datacenter?: string; available: number };
  /** So many stopped instances more. */
  instances?: number;
  limits?: World["limits"];
  storageLimits?: World["storageLimits"];
  /** Forgets all events, as a restored platform does. */
  forgetEvents?: boolean;
  /** Everything of the studio is gone: it has just begun. */
  empty?: boolean;
  /** The budget is spent, and its instances are stopped. */
  budgetSpent?: boolean;
  /** What hosts of webhooks answer from now on. */
  endpoints?: Record<string, number>;
  /** A service does not answer, or answers again. */
  notice?: StreamNotice;
  /** An entry of the audit log was changed. */
  brokenAudit?: boolean;
}

export function change(
  world: World,
  {
    stock,
    instances = 0,
    limits,
    storageLimits,
    forgetEvents,
    empty,
    budgetSpent,
    endpoints,
    notice,
    brokenAudit,
  }: Change,
) {
  if (stock)
    for (const row of world.stock)
      if (row.gpu_spec.name === stock.spec && (!stock.datacenter || row.datacenter.name === stock.datacenter))
        row.available = stock.available;
  const model = world.instances.find(
    (kept) => kept.it.state === "stopped" && !kept.it.reason && !kept.it.hold,
  );
  for (let i = 0; model && i < instances; i++) {
    const it = {
      ...model.it,
      id: makeSortedId<typeof model.it.id>("inst", now(), ++world.next),
      name: `sheet-${i}`,
    };
    world.instances.push({ ...model, it, runs: [] });
  }
  if (notice) for (const stream of world.streams) stream.notice(notice);
  if (brokenAudit) world.platform.brokenAudit = true;
  if (limits) world.limits = limits;
  if (storageLimits) world.storageLimits = storageLimits;
  if (forgetEvents) {
    world.events = [];
    world.jobs.events = [];
  }
  if (empty) {
    world.instances = [];
    world.storages = [];
    world.registryCredentials = [];
    world.jobs.kept = [];
    world.jobs.past = [];
    world.models = [];
    world.deployments = [];
    world.events = [];
    world.metered = [];
    world.webhooks = [];
    world.mqCredentials = [];
    world.dead = [];
  }
  Object.assign(world.endpoints, endpoints);
  if (budgetSpent) spendBudget(world);
}

/** Its amount becomes less than what was spent, and what ran is stopped. */
function spendBudget(world: World) {
  const [tenant] = world.tenants;
  if (!world.budget || !tenant) return;
  const { spent } = budgetOf(world, tenant.id, world.budget);
  world.budget.terms.amount = toDecimal((parseAmount(spent) * 9n) / 10n);
  for (const { it, runs } of world.instances.filter((kept) => kept.tenant_id === tenant.id)) {
    for (const run of runs) run.ended_at ??= now();
    if (it.state === "running")
      Object.assign(it, {
        state: "stopped",
        reason: "budget_exhausted",
        started_at: null,
        updated_at: now(),
      });
  }
}
