import type { JobUsageGroup, TenantId } from "../../src/api/generated/types";
import { type Amount, parseAmount, toDecimal } from "../../src/lib/money";
import type { Backend } from "../backend.ts";
import type { PastUsage } from "./usage-seed.ts";

type Part = Omit<PastUsage, "tenant_id"> & { open: number };

const keys = {
  day: (part: Part) => part.day,
  kind: (part: Part) => part.kind,
  application: (part: Part) => part.application,
  pool: (part: Part) => part.pool_id,
  spec: (part: Part) => part.gpu_spec,
  charge: (part: Part) => part.charge,
};

export type JobGroupBy = keyof typeof keys;

/** What the jobs that are still known cost, and what those before them did. */
function partsOf(backend: Backend, tenant: TenantId | null): Part[] {
  const { past, kept, pools } = backend.jobs;
  const told = kept
    .filter((job) => job.tenant_id === tenant)
    .flatMap(({ it, pool, attempts }) =>
      attempts.flatMap((attempt): Part[] => {
        const pool_id = pools.find((one) => one.name === pool)?.id;
        if (!pool_id) return [];
        const base = {
          day: attempt.assigned_at.slice(0, 10),
          kind: it.kind,
          application: it.application,
          pool_id,
          gpu_spec: attempt.gpu_spec,
          seconds: 0,
          amount: "0",
          attempts: 0,
          open: 0,
        };
        if (!attempt.ended_at) return [{ ...base, charge: "open", open: 1 }];
        const { seconds, cost, uncharged_seconds, uncharged_reason } = attempt;
        const isPaid = (seconds ?? 0) > 0;
        return [
          ...(isPaid
            ? [{ ...base, charge: "charged", seconds: seconds ?? 0, amount: cost ?? "0", attempts: 1 }]
            : []),
          ...(uncharged_reason
            ? [
                {
                  ...base,
                  charge: uncharged_reason,
                  seconds: uncharged_seconds ?? 0,
                  attempts: isPaid ? 0 : 1,
                },
              ]
            : []),
        ];
      }),
    );
  return [...past.filter((it) => it.tenant_id === tenant).map((it) => ({ ...it, open: 0 })), ...told];
}

interface Sum {
  seconds: number;
  amount: Amount;
  uncharged: number;
  attempts: number;
  open: number;
}

/** Jobs of whole days, by group. */
export function jobUsageOf(
  backend: Backend,
  tenant: TenantId | null,
  { from, to, by }: { from: number; to: number; by: JobGroupBy },
): JobUsageGroup[] {
  const sums = new Map<string, Sum>();
  for (const part of partsOf(backend, tenant)) {
    const at = Date.parse(part.day);
    if (at < from || at >= to) continue;
    const key = keys[by](part);
    const sum = sums.get(key) ?? { seconds: 0, amount: 0n, uncharged: 0, attempts: 0, open: 0 };
    sum[part.charge === "charged" ? "seconds" : "uncharged"] += part.seconds;
    sum.amount += parseAmount(part.amount);
    sum.attempts += part.attempts;
    sum.open += part.open;
    sums.set(key, sum);
  }
  return [...sums]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([group, sum]) => ({
      group,
      seconds: sum.seconds,
      amount: toDecimal(sum.amount),
      currency: "USD",
      uncharged_seconds: sum.uncharged,
      attempts: sum.attempts,
      open_attempts: sum.open,
    }));
}
