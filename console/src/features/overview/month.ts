import type { Budget, UsageGroup } from "@/api/generated/types";
import { type Amount, costOf, parseAmount } from "@/lib/money";
import { monthStart } from "./queries";

const DAY = 86_400_000;
const WEEK = 7;

export interface Month {
  currency: string;
  /** Sums at moments of the month: 0 is its beginning, 1 its end. */
  points: { at: number; sum: Amount }[];
  sum: Amount;
  /** On average of the last seven days before today. */
  perDay: Amount;
  /** What it is at the end of the month if the days to come are like these. */
  forecast: Amount;
  end: number;
}

/** The month until now, in the currency of the budget or of what was used; null if nothing was. */
export function monthOf(groups: readonly UsageGroup[], budget: Budget | null, now: number): Month | null {
  const currency = budget?.terms.currency ?? groups[0]?.currency;
  if (!currency) return null;
  const start = monthStart(now);
  const end = monthStart(start + 32 * DAY);
  const days = groups
    .filter((it) => it.currency === currency)
    .map((it) => ({ at: Date.parse(`${it.group}T00:00:00Z`), amount: parseAmount(it.amount) }))
    .sort((a, b) => a.at - b.at);
  let sum = 0n;
  const points = [{ at: 0, sum }];
  for (const day of days) {
    if (day.at < start) continue;
    sum += day.amount;
    points.push({ at: (Math.min(day.at + DAY, now) - start) / (end - start), sum });
  }
  const today = Math.floor(now / DAY) * DAY;
  const week = days.filter((day) => day.at < today && day.at >= today - WEEK * DAY);
  const perDay = week.reduce((all, day) => all + day.amount, 0n) / BigInt(WEEK);
  const left = BigInt(Math.max(0, Math.round((end - now) / 1000)));
  return { currency, points, sum, perDay, forecast: sum + (perDay * left) / 86_400n, end };
}

/** What is spent now, if what ran when it was asked goes on. */
export const spentBy = (budget: Budget, asked: number, now: number): Amount =>
  parseAmount(budget.spent) + costOf(budget.rate_per_hour, Math.max(0, (now - asked) / 1000));

/** Of a line from 0 to 1: points in a box of this size, the largest sum at the top. */
export function pathOf(points: Month["points"], most: Amount, width: number, height: number): string {
  const y = (sum: Amount) =>
    most === 0n ? height : height - (Number((sum * 10_000n) / most) / 10_000) * height;
  return points
    .map((it, i) => `${i ? "L" : "M"}${(it.at * width).toFixed(1)} ${y(it.sum).toFixed(1)}`)
    .join("");
}

export const largest = (...amounts: (Amount | null)[]): Amount =>
  amounts.reduce<Amount>((most, it) => (it !== null && it > most ? it : most), 0n);

/** Whole percent, rounded down; null of nothing. */
export const percentOf = (part: Amount, whole: Amount): number | null =>
  whole > 0n ? Number((part * 100n) / whole) : null;
