import type { InstanceId, TenantId, UsageKind } from "../src/api/generated/types";
import { makeSortedId } from "./ids.ts";
import type { Kept } from "./kept.ts";
import { daysAgo } from "./times.ts";

/** A run as the meter keeps it: it outlives its instance. */
export interface Metered {
  tenant_id: TenantId;
  instance_id: InstanceId;
  gpu_spec: string;
  kind: UsageKind;
  started_at: string;
  ended_at: string | null;
  price_per_hour: string;
  currency: string;
}

/** Runs that the instances of today do not know: of deleted ones, and from before their lists begin. */
export interface UsageData {
  metered: Metered[];
}

interface Machine {
  /** An instance of today; others were deleted. */
  name?: string;
  gpu_spec: string;
  price: string;
  /** Days ago, from and to. */
  days: [number, number];
  /** Hour of the day in UTC at which it is usually started, and for how long. */
  hour: number;
  hours: number;
  /** Of ten workdays, on how many. */
  often: number;
}

const machines: Machine[] = [
  {
    name: "poster-march",
    gpu_spec: "3080-small-4-1",
    price: "0.20",
    days: [31, 12],
    hour: 8,
    hours: 7,
    often: 8,
  },
  {
    name: "storyboard",
    gpu_spec: "3080-small-4-1",
    price: "0.20",
    days: [11, 2],
    hour: 9,
    hours: 5,
    often: 9,
  },
  { gpu_spec: "4090-small-4-1", price: "0.74", days: [90, 41], hour: 8, hours: 8, often: 9 },
  { gpu_spec: "4090-small-4-1", price: "0.74", days: [52, 3], hour: 9, hours: 9, often: 10 },
  { gpu_spec: "3080-small-8-1", price: "0.24", days: [90, 62], hour: 10, hours: 6, often: 8 },
  { gpu_spec: "3080-small-8-1", price: "0.26", days: [61, 3], hour: 13, hours: 7, often: 8 },
  { gpu_spec: "a100-small-4-1", price: "1.89", days: [75, 69], hour: 21, hours: 5, often: 7 },
  { gpu_spec: "a100-small-4-1", price: "1.89", days: [34, 27], hour: 20, hours: 6, often: 7 },
  { gpu_spec: "l40s-small-8-1", price: "1.12", days: [24, 9], hour: 12, hours: 4, often: 7 },
];

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The same at each start: 0 to 9. */
const dice = (a: number, b: number) => ((a * 7919 + b * 104_729 + 13) % 97) % 10;

/** Ninety days of a studio that works on weekdays, and leaves things running now and then. */
export function usageSeed(studio: TenantId, instances: readonly Kept[]): UsageData {
  const today = Math.floor(Date.now() / DAY) * DAY;
  const metered = machines.flatMap((machine, n) => runsOf(machine, n, studio, instances, today));
  return { metered };
}

function runsOf(
  machine: Machine,
  n: number,
  tenant_id: TenantId,
  instances: readonly Kept[],
  today: number,
): Metered[] {
  const known = instances.find((kept) => kept.it.name === machine.name);
  const instance_id = known?.it.id ?? makeSortedId<InstanceId>("inst", daysAgo(machine.days[0]), 300 + n);
  const runs: Metered[] = [];
  const add = (kind: UsageKind, from: number, to: number, price_per_hour: string) =>
    runs.push({
      tenant_id,
      instance_id,
      gpu_spec: machine.gpu_spec,
      kind,
      started_at: new Date(from).toISOString(),
      ended_at: new Date(to).toISOString(),
      price_per_hour,
      currency: "USD",
    });
  for (let ago = machine.days[0]; ago >= machine.days[1]; ago--) {
    const midnight = today - ago * DAY;
    const weekday = new Date(midnight).getUTCDay();
    const roll = dice(n + 1, Math.floor(midnight / DAY));
    const isWeekend = weekday === 0 || weekday === 6;
    if (isWeekend ? roll < 8 : roll >= machine.often) continue;
    const from = midnight + machine.hour * HOUR + roll * 7 * 60_000;
    const to = from + machine.hours * HOUR * (0.6 + roll / 14) + 19_000;
    add("running", from, to, machine.price);
    // kept over lunch now and then
    if (machine.price === "0.74" && roll < 2) add("held", to, to + 1.5 * HOUR, "0.296");
  }
  return runs;
}
