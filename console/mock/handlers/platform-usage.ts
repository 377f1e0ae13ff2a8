import type { JobUsageGroup, TenantId, UsageGroup } from "../../src/api/generated/types";
import { asAdmin } from "../admin.ts";
import type { Backend } from "../backend.ts";
import { pageOf } from "../page.ts";
import { specs } from "../studio-seed.ts";
import type { Handlers } from "../types.ts";

const DAY = 86_400_000;

const group = (name: string, cents: number, open_runs = 0): UsageGroup => ({
  group: name,
  running_seconds: Math.round((cents / 100) * 4800),
  held_seconds: Math.round(cents * 2),
  amount: (cents / 100).toFixed(2),
  currency: "USD",
  open_runs,
});

/** Weekends are quiet. */
const weights = (from: number, to: number) =>
  Array.from({ length: Math.max(1, Math.ceil((to - from) / DAY)) }, (_, i) => {
    const day = new Date(from + i * DAY);
    const isQuiet = day.getUTCDay() % 6 === 0;
    return { day: day.toISOString().slice(0, 10), weight: (isQuiet ? 3 : 9) + ((day.getUTCDate() * 7) % 5) };
  });

const runsOf = (backend: Backend, id: TenantId) =>
  backend.instances.filter((kept) => kept.tenant_id === id && kept.it.state === "running").length;

function shared(cents: number, parts: { name: string; weight: number }[]): UsageGroup[] {
  const whole = parts.reduce((sum, it) => sum + it.weight, 0);
  let [seen, given] = [0, 0];
  // rounded so that the parts add up to the sum
  return parts.map(({ name, weight }) => {
    seen += weight;
    const part = Math.round((cents * seen) / whole) - given;
    given += part;
    return group(name, part);
  });
}

/** Of ten dollars for instances, one goes to jobs. */
const jobsOf = (cents: number) => Math.round(cents / 10);

const jobGroup = ({ group, amount, currency }: UsageGroup): JobUsageGroup => ({
  group,
  seconds: Math.round(Number(amount) * 3100),
  amount,
  currency,
  uncharged_seconds: Math.round(Number(amount) * 240),
  attempts: Math.round(Number(amount) * 62),
  open_attempts: 0,
});

export const platformUsageHandlers = {
  listPlatformJobUsage: (context) => {
    asAdmin(context);
    const { backend, query } = context;
    const spent = [...backend.platform.spent]
      .filter(([id, cents]) => cents > 0 && (!query.tenant_id || id === query.tenant_id))
      .map(([id, cents]) => ({ name: id as string, weight: cents }));
    const cents = jobsOf(spent.reduce((sum, it) => sum + it.weight, 0));
    const to = query.to ? Date.parse(query.to) : Date.now();
    const from = query.from ? Date.parse(query.from) : to - 30 * DAY;
    const parts: Record<string, { name: string; weight: number }[]> = {
      tenant: spent,
      day: weights(from, to).map(({ day, weight }) => ({ name: day, weight: (weight * 5) % 7 })),
      kind: [
        { name: "generation", weight: 7 },
        { name: "training", weight: 3 },
      ],
      charge: [{ name: "charged", weight: 1 }],
    };
    const groups = shared(cents, parts[query.group_by ?? "tenant"] ?? []);
    return pageOf(groups.filter((it) => it.amount !== "0.00").map(jobGroup), query);
  },
  listPlatformUsage: (context) => {
    asAdmin(context);
    const { backend, query } = context;
    const { spent } = backend.platform;
    const to = query.to ? Date.parse(query.to) : Date.now();
    const from = query.from ? Date.parse(query.from) : to - 30 * DAY;
    const cents = query.tenant_id
      ? (spent.get(query.tenant_id) ?? 0)
      : [...spent.values()].reduce((sum, it) => sum + it, 0);
    const days = weights(from, to).map(({ day, weight }) => ({ name: day, weight }));
    switch (query.group_by) {
      case "day":
        return pageOf(shared(cents, days), query);
      case "spec":
        return pageOf(
          shared(
            cents,
            specs.map((it, i) => ({ name: it.name, weight: [4, 2, 9, 5, 7, 3][i] ?? 1 })),
          ),
          query,
        );
      case "kind":
        return pageOf([group("running", cents * 0.96), group("held", cents * 0.04)], query);
      default:
        return pageOf(
          [...spent]
            .filter(([id, amount]) => amount > 0 && (!query.tenant_id || id === query.tenant_id))
            .map(([id, amount]) => group(id, amount, runsOf(backend, id))),
          query,
        );
    }
  },
} satisfies Partial<Handlers>;
