import type { Period } from "./choices";

/** What the address says of it. */
export interface Choice {
  period?: Period | undefined;
  /** Of an own period: first and last day, `2026-01-31`. */
  from?: string | undefined;
  to?: string | undefined;
}

/** Milliseconds since the epoch. Usage is counted in days of UTC. */
export interface Window {
  from: number;
  /** Until when it is known: now, or the end of a period that is over. */
  to: number;
  /** When the period ends. */
  end: number;
}

export const DAY = 86_400_000;
/** The longest window that the API sums up. */
const MOST_DAYS = 366;

export const midnight = (at: number) => Math.floor(at / DAY) * DAY;
export const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);
export const timeOf = (day: string) => Date.parse(`${day}T00:00:00Z`);

function monthOf(at: number, shift = 0): [from: number, end: number] {
  const date = new Date(at);
  const first = (months: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1);
  return [first(shift), first(shift + 1)];
}

/** An own period has both days in order, is not ahead, and is no longer than the API allows. */
function ownOf({ from = "", to = "" }: Choice, now: number): [from: number, end: number] | null {
  const [first, last] = [timeOf(from), timeOf(to)];
  if (Number.isNaN(first) || Number.isNaN(last) || last < first || first > now) return null;
  const end = Math.min(last, midnight(now)) + DAY;
  return [Math.max(first, end - MOST_DAYS * DAY), end];
}

function boundsOf(choice: Choice, now: number): [from: number, end: number] {
  switch (choice.period) {
    case "last-month":
      return monthOf(now, -1);
    case "7d":
      return [midnight(now) - 6 * DAY, midnight(now) + DAY];
    case "own":
      return ownOf(choice, now) ?? monthOf(now);
    default:
      return monthOf(now);
  }
}

export function windowOf(choice: Choice, now: number): Window {
  const [from, end] = boundsOf(choice, now);
  // whole seconds, as the meter counts; the first second of a period is asked for as a whole
  const known = Math.max(Math.floor(now / 1000) * 1000, from + 1000);
  return { from, end, to: Math.min(known, end) };
}

export function daysOf({ from, end }: Pick<Window, "from" | "end">): string[] {
  return Array.from({ length: Math.round((end - from) / DAY) }, (_, i) => dayOf(from + i * DAY));
}
