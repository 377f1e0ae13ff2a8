import type { StreamNotice } from "../src/api/generated/types";
import { parseAmount, toDecimal } from "../src/lib/money";
import type { Backend } from "./backend.ts";
import { makeSortedId } from "./ids.ts";
import { now } from "./times.ts";
import { budgetOf } from "./usage.ts";

/** What a test changes in the backend, as others of the studio or the platform would. */
export interface Change {
  /** Free units of a specification, in one datacenter or in all. */
  stock?: { spec: string; datacenter?: string; available: number };
  /** So many stopped instances more. */
  instances?: number;
  limits?: Backend["limits"];
  storageLimits?: Backend["storageLimits"];
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
  backend: Backend,
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
    for (const row of backend.stock)
      if (row.gpu_spec.name === stock.spec && (!stock.datacenter || row.datacenter.name === stock.datacenter))
        row.available = stock.available;
  const model = backend.instances.find(
    (kept) => kept.it.state === "stopped" && !kept.it.reason && !kept.it.hold,
  );
  for (let i = 0; model && i < instances; i++) {
    const it = {
      ...model.it,
      id: makeSortedId<typeof model.it.id>("inst", now(), ++backend.next),
      name: `sheet-${i}`,
    };
    backend.instances.push({ ...model, it, runs: [] });
  }
  if (notice) for (const stream of backend.streams) stream.notice(notice);
  if (brokenAudit) backend.platform.brokenAudit = true;
  if (limits) backend.limits = limits;
  if (storageLimits) backend.storageLimits = storageLimits;
  if (forgetEvents) {
    backend.events = [];
    backend.jobs.events = [];
  }
  if (empty) {
    backend.instances = [];
    backend.storages = [];
    backend.registryCredentials = [];
    backend.jobs.kept = [];
    backend.jobs.past = [];
    backend.models = [];
    backend.deployments = [];
    backend.events = [];
    backend.metered = [];
    backend.webhooks = [];
    backend.mqCredentials = [];
    backend.dead = [];
  }
  Object.assign(backend.endpoints, endpoints);
  if (budgetSpent) spendBudget(backend);
}

/** Its amount becomes less than what was spent, and what ran is stopped. */
function spendBudget(backend: Backend) {
  const [tenant] = backend.tenants;
  if (!backend.budget || !tenant) return;
  const { spent } = budgetOf(backend, tenant.id, backend.budget);
  backend.budget.terms.amount = toDecimal((parseAmount(spent) * 9n) / 10n);
  for (const { it, runs } of backend.instances.filter((kept) => kept.tenant_id === tenant.id)) {
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
