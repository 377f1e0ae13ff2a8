import { type Amount, parseAmount } from "@/lib/money";
import type { Costs } from "./report";

export interface Bar {
  day: string;
  /** Of each of the reports. */
  parts: Amount[];
  amount: Amount;
}

export interface Bars {
  bars: Bar[];
  highest: Bar;
  /** Of each of the reports. */
  sums: Amount[];
  sum: Amount;
}

const added = (amounts: readonly Amount[]) => amounts.reduce((sum, amount) => sum + amount, 0n);

/** What each day of the period cost in one currency, by reports that are stacked. */
export function barsOf(
  slots: readonly string[],
  reports: readonly (readonly Costs[])[],
  currency: string,
): Bars {
  const known = reports.map(
    (days) =>
      new Map(days.filter((it) => it.currency === currency).map((it) => [it.group, parseAmount(it.amount)])),
  );
  const bars = slots.map((day) => {
    const parts = known.map((days) => days.get(day) ?? 0n);
    return { day, parts, amount: added(parts) };
  });
  const highest = bars.reduce((most, bar) => (bar.amount > most.amount ? bar : most), {
    day: slots[0] ?? "",
    parts: [],
    amount: 0n,
  });
  const sums = reports.map((_, i) => added(bars.map((bar) => bar.parts[i] ?? 0n)));
  return { bars, highest, sums, sum: added(sums) };
}

/** Only for the height of bars: what is said in figures stays exact. */
export const asNumber = (amount: Amount) => Number(amount) / 1_000_000;

/** The top of the scale: a round number, at least the highest value. */
export function topOf(most: number): number {
  if (most <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((top) => top >= most) ?? most;
}

/** Days that have a label under them, and whether it names the month. */
export function labelled(
  days: readonly string[],
): { index: number; form: "weekday" | "day" | "date" | "month" }[] {
  const all = days.map((day, index) => ({ day, index, date: Number(day.slice(8)) }));
  if (days.length <= 10) return all.map(({ index }) => ({ index, form: "weekday" }));
  if (days.length <= 62)
    return all
      .filter(({ index }) => index % 7 === 0)
      .map(({ index, date }) => ({ index, form: index === 0 || date <= 7 ? "date" : "day" }));
  const every = days.length > 200 ? 2 : 1;
  return all
    .filter(({ day, date }) => date === 1 && Number(day.slice(5, 7)) % every === 0)
    .map(({ index }) => ({ index, form: "month" }));
}
