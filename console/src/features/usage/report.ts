import { type Amount, inCents, parseAmount, type Totals, toDecimal, totalOf } from "@/lib/money";
import { DAY, dayOf, midnight, type Window } from "./period";

/** What a group costs, of instances or jobs. */
export interface Costs {
  group: string;
  amount: string;
  /** Null if no price was known: then it costs nothing. */
  currency: string | null;
}

export const sumOf = (groups: readonly Costs[]): Totals =>
  totalOf(
    groups.flatMap(({ amount, currency }) => (currency === null ? [] : [{ amount, currency }])),
    ({ amount }) => parseAmount(amount),
  );

/** The same in cents that add up, for what is shown; the file has every digit. */
export function rounded<Group extends Costs>(groups: readonly Group[]): Group[] {
  const currencies = new Set(groups.map((it) => it.currency));
  const shown = new Map<Group, string>();
  for (const currency of currencies) {
    const own = groups.filter((it) => it.currency === currency);
    const cents = inCents(own.map((it) => parseAmount(it.amount)));
    for (const [i, it] of own.entries()) shown.set(it, toDecimal(cents[i] ?? 0n));
  }
  return groups.map((it) => ({ ...it, amount: shown.get(it) ?? it.amount }));
}

export const figureOf = <Figure extends string>(groups: readonly Record<Figure, number>[], figure: Figure) =>
  groups.reduce((sum, group) => sum + group[figure], 0);

function byAmount(a: Costs, b: Costs): number {
  const difference = parseAmount(b.amount) - parseAmount(a.amount);
  if (difference !== 0n) return difference > 0n ? 1 : -1;
  return a.group.localeCompare(b.group);
}

/** The newest day or the dearest first. A list that is not whole yet keeps the order in which it comes. */
export const sorted = <Group extends Costs>(
  groups: readonly Group[],
  by: string,
  isWhole: boolean,
): Group[] =>
  isWhole
    ? [...groups].sort(by === "day" ? (a, b) => b.group.localeCompare(a.group) : byAmount)
    : [...groups];

export interface Forecast {
  currency: string;
  amount: Amount;
  /** What a day costs on average. */
  perDay: Amount;
  /** Of so many days. */
  days: number;
}

const FEWEST_DAYS = 3;
const MOST_DAYS = 7;

/**
 * What the period costs by its end: what it has cost, and for the rest per day the average of its last whole days, at most seven.
 * Null when it is over, has fewer than three whole days, or its costs are in several currencies.
 */
export function forecastOf(days: readonly Costs[], { from, to, end }: Window): Forecast | null {
  const today = midnight(to);
  const whole = Math.min(MOST_DAYS, Math.round((today - from) / DAY));
  const [[currency, spent] = [], ...others] = sumOf(days);
  if (to >= end || whole < FEWEST_DAYS || currency === undefined || others.length > 0) return null;
  const since = dayOf(today - whole * DAY);
  const counted = days.filter((it) => it.group >= since && it.group < dayOf(today));
  const cost = counted.reduce((sum, it) => sum + parseAmount(it.amount), 0n);
  const rest = BigInt(Math.round((end - to) / 1000));
  return {
    currency,
    days: whole,
    perDay: cost / BigInt(whole),
    amount: (spent ?? 0n) + (cost * rest) / (BigInt(whole) * BigInt(DAY / 1000)),
  };
}
