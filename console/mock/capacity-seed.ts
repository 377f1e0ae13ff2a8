import type { CapacityPoint, CapacityStep, StockCapacity, StockRow } from "../src/api/generated/types";

const HOUR = 3_600_000;
const lengths: Record<CapacityStep, number> = { hour: HOUR, day: 24 * HOUR };

const rounded = (value: number) => Math.round(value * 100) / 100;

/** How busy the hour is, from 0 to 1: the evening of a weekday most. */
function busyAt(time: number) {
  const date = new Date(time);
  const evening = Math.exp(-(((date.getUTCHours() - 15) / 5) ** 2));
  const weekend = date.getUTCDay() % 6 === 0 ? 0.55 : 1;
  const ripple = 0.06 * Math.sin(time / HOUR / 3.7) + 0.04 * Math.sin(time / HOUR / 1.3);
  return Math.min(1, Math.max(0.12, (0.42 + 0.6 * evening) * weekend + ripple));
}

/** The platform stood still for three hours on the day before yesterday. */
const wasCounted = (time: number, now: number) => time < now - 45 * HOUR || time >= now - 42 * HOUR;

/** How far the use of all units swings around what it is now. */
const SWING = 0.4;

function unitsAt(rows: readonly StockRow[], time: number, now: number, step: CapacityStep) {
  const noon = step === "day" ? 13 * HOUR : 0;
  const change = time + lengths[step] > now ? 0 : SWING * (busyAt(time + noon) - busyAt(now));
  // a day has its evening, an hour its moments
  const rush = step === "day" ? SWING * 0.5 : 0.04;
  // stock has grown
  const age = (now - time) / (24 * HOUR);
  const sum = { available: 0, inactive: 0, used: 0, least_available: 0 };
  for (const row of rows) {
    const total = Math.round(row.total * Math.max(0.4, 1 - age / 420));
    const inactive = Math.min(row.inactive, total);
    const usable = total - inactive;
    const used = usable * Math.min(1, Math.max(0, row.used / Math.max(1, row.used + row.available) + change));
    sum.inactive += inactive;
    sum.used += used;
    sum.available += usable - used;
    sum.least_available += Math.max(0, Math.floor(usable - used - usable * rush));
  }
  return {
    available: rounded(sum.available),
    inactive: rounded(sum.inactive),
    used: rounded(sum.used),
    total: rounded(sum.available + sum.inactive + sum.used),
    least_available: sum.least_available,
  };
}

/** What was counted of these rows in the steps from one time to another. */
export function capacityOf(
  rows: readonly StockRow[],
  { step, from, to }: { step: CapacityStep; from: number; to: number },
): StockCapacity {
  const length = lengths[step];
  const first = Math.floor(from / length) * length;
  const end = Math.ceil(to / length) * length;
  const points: CapacityPoint[] = [];
  for (let at = first; at < end; at += length)
    points.push({
      at: new Date(at).toISOString(),
      units: step === "day" || wasCounted(at, to) ? unitsAt(rows, at, to, step) : null,
    });
  return { step, from: new Date(first).toISOString(), to: new Date(end).toISOString(), points };
}
