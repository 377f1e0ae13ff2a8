import type { UsageGroup } from "@/api/generated/types";
import { type Amount, parseAmount } from "@/lib/money";

export interface Bar {
  day: string;
  amount: Amount;
}

export interface Bars {
  bars: Bar[];
  highest: Bar;
  sum: Amount;
}

/** What each day of the period cost in one currency. */
export function barsOf(slots: readonly string[], days: readonly UsageGroup[], currency: string): Bars {
  const known = new Map(
    days.filter((it) => it.currency === currency).map((it) => [it.group, parseAmount(it.amount)]),
  );
  const bars = slots.map((day) => ({ day, amount: known.get(day) ?? 0n }));
  const highest = bars.reduce((most, bar) => (bar.amount > most.amount ? bar : most), {
    day: slots[0] ?? "",
    amount: 0n,
  });
  return { bars, highest, sum: bars.reduce((sum, bar) => sum + bar.amount, 0n) };
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
