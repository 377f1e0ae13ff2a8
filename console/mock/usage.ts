import type { Budget, BudgetStep, TenantId, UsageGroup } from "../src/api/generated/types";
import { type Amount, costOf, parseAmount, toDecimal } from "../src/lib/money";
import type { Backend } from "./backend.ts";
import type { Metered } from "./usage-seed.ts";

export type GroupBy = "instance" | "day" | "spec" | "kind";

const DAY = 86_400_000;

/** All runs of a tenant, open ones too. */
function runsOf(backend: Backend, tenant: TenantId | null): Metered[] {
  const today = backend.instances
    .filter((kept) => kept.tenant_id === tenant)
    .flatMap(({ it, runs }) =>
      runs.map(({ kind, started_at, ended_at, price_per_hour, currency }) => ({
        tenant_id: tenant as TenantId,
        instance_id: it.id,
        gpu_spec: it.gpu_spec.name,
        kind,
        started_at,
        ended_at,
        price_per_hour,
        currency,
      })),
    );
  return [...backend.metered.filter((run) => run.tenant_id === tenant), ...today];
}

interface Sum {
  running: number;
  held: number;
  amount: Amount;
  open: Set<Metered>;
}

/** Whole seconds, as the meter counts them. */
const second = (at: string | number) => Math.floor(new Date(at).getTime() / 1000) * 1000;

/** A window's runs by group, cut at the days of UTC: whatever the cuts, they add up to the amount of the run. */
export function usageOf(
  backend: Backend,
  tenant: TenantId | null,
  { from, to, by }: { from: number; to: number; by: GroupBy },
): UsageGroup[] {
  const sums = new Map<string, Sum>();
  for (const run of runsOf(backend, tenant)) {
    const begin = second(run.started_at);
    const end = second(run.ended_at ?? Math.min(Date.now(), to));
    const costUntil = (at: number) => costOf(run.price_per_hour, (at - begin) / 1000);
    for (let a = Math.max(begin, from); a < Math.min(end, to); ) {
      const b = Math.min(end, to, Math.floor(a / DAY + 1) * DAY);
      const day = new Date(a).toISOString().slice(0, 10);
      const key = { instance: run.instance_id, day, spec: run.gpu_spec, kind: run.kind }[by];
      const sum = sums.get(`${key} ${run.currency}`) ?? { running: 0, held: 0, amount: 0n, open: new Set() };
      sum[run.kind === "held" ? "held" : "running"] += (b - a) / 1000;
      sum.amount += costUntil(b) - costUntil(a);
      if (!run.ended_at) sum.open.add(run);
      sums.set(`${key} ${run.currency}`, sum);
      a = b;
    }
  }
  return [...sums]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, sum]) => {
      const [group = "", currency = ""] = name.split(" ");
      return {
        group,
        currency,
        running_seconds: sum.running,
        held_seconds: sum.held,
        amount: toDecimal(sum.amount),
        open_runs: sum.open.size,
      };
    });
}

/** The budget with what was spent of it until now, as the service judges it. */
export function budgetOf(backend: Backend, tenant: TenantId, { terms }: Budget): Budget {
  const at = second(Date.now());
  const month = new Date(at);
  const from = Date.UTC(month.getUTCFullYear(), month.getUTCMonth(), 1);
  const renews = Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 1);
  const kinds = from < at ? usageOf(backend, tenant, { from, to: at, by: "kind" }) : [];
  const partOf = (kind: string) => parseAmount(kinds.find((it) => it.group === kind)?.amount ?? "0");
  const spent = partOf("running") + partOf("held");
  const rate = runsOf(backend, tenant)
    .filter((run) => !run.ended_at)
    .reduce((sum, run) => sum + parseAmount(run.price_per_hour), 0n);
  const amount = parseAmount(terms.amount);
  const reaches = (threshold: Amount) => {
    const missing = threshold - spent;
    if (missing <= 0n) return at;
    return rate > 0n ? at + (Number((missing * 3600n) / rate) + 1) * 1000 : Number.POSITIVE_INFINITY;
  };
  const steps = [...(terms.warn_percents ?? []), 100].map((percent): BudgetStep => {
    const threshold = (amount * BigInt(percent)) / 100n;
    const time = reaches(threshold);
    return {
      percent,
      amount: toDecimal(threshold),
      reached_at: spent >= threshold ? reachedAt(backend, tenant, from, threshold) : null,
      expected_at: spent < threshold && time < renews ? new Date(time).toISOString() : null,
    };
  });
  const stops = terms.at_limit !== "notify";
  const isSpent = spent >= amount;
  return {
    terms,
    from: new Date(from).toISOString(),
    renews_at: new Date(renews).toISOString(),
    spent: toDecimal(spent),
    spent_running: toDecimal(partOf("running")),
    spent_held: toDecimal(partOf("held")),
    rate_per_hour: toDecimal(rate),
    runs_out_at: reaches(amount) < renews ? new Date(reaches(amount)).toISOString() : null,
    steps,
    starts_refused: stops && isSpent,
    refused_until: stops && isSpent ? new Date(renews).toISOString() : null,
    // what is left pays for twenty minutes
    max_rate_per_hour: stops ? toDecimal(isSpent ? 0n : (amount - spent) * 3n) : null,
    worst_overspend: stops ? toDecimal((rate * 127n) / 3600n) : null,
  };
}

/** The end of the day on which the sum passed it. */
function reachedAt(backend: Backend, tenant: TenantId, from: number, threshold: Amount): string {
  let sum = 0n;
  for (const day of usageOf(backend, tenant, { from, to: second(Date.now()), by: "day" })) {
    sum += parseAmount(day.amount);
    if (sum >= threshold)
      return new Date(Math.min(Date.now(), Date.parse(day.group) + 15.4 * 3_600_000)).toISOString();
  }
  return new Date().toISOString();
}
