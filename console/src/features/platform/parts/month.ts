/** The first moment of the calendar month (UTC), in which budgets count. */
export const monthStart = (now: number): string => {
  const day = new Date(now);
  return new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), 1)).toISOString();
};

export interface DayAmount {
  day: string;
  amount: string;
}

/** Every day since the month began; those of which the list says nothing cost nothing. */
export function daysOf(groups: readonly { group: string; amount: string }[], now: number): DayAmount[] {
  const known = new Map(groups.map((it) => [it.group, it.amount]));
  const days = new Date(now).getUTCDate();
  const month = monthStart(now).slice(0, 8);
  return Array.from({ length: days }, (_, i) => {
    const day = `${month}${String(i + 1).padStart(2, "0")}`;
    return { day, amount: known.get(day) ?? "0" };
  });
}
