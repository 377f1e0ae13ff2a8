import { parseAmount, toDecimal } from "@/lib/money";

/** The first moment of the calendar month (UTC), in which budgets count. */
export const monthStart = (now: number): string => {
  const day = new Date(now);
  return new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), 1)).toISOString();
};

export interface DayAmount {
  day: string;
  amount: string;
  /** Of each of the reports. */
  parts: string[];
}

interface DayGroup {
  group: string;
  amount: string;
  currency: string | null;
}

/** Every day since the month began, by reports in one currency; those of which they say nothing cost nothing. */
export function daysOf(
  reports: readonly (readonly DayGroup[])[],
  currency: string,
  now: number,
): DayAmount[] {
  const known = reports.map(
    (groups) => new Map(groups.filter((it) => it.currency === currency).map((it) => [it.group, it.amount])),
  );
  const days = new Date(now).getUTCDate();
  const month = monthStart(now).slice(0, 8);
  return Array.from({ length: days }, (_, i) => {
    const day = `${month}${String(i + 1).padStart(2, "0")}`;
    const parts = known.map((amounts) => amounts.get(day) ?? "0");
    return { day, parts, amount: toDecimal(parts.reduce((sum, part) => sum + parseAmount(part), 0n)) };
  });
}
