import type { JobAttempt } from "@/api/generated/types";
import { type Amount, costOf, parseAmount, times } from "@/lib/money";

const since = (at: string, now: number) => Math.max(0, (now - Date.parse(at)) / 1000);

export interface Spent {
  amount: Amount;
  currency: string;
}

/** What its attempts have cost until now, those that are open by the clock. Null if a price is not known. */
export function spentOf(attempts: readonly JobAttempt[], now: number): Spent | null {
  let amount = 0n;
  let currency: string | null = null;
  for (const it of attempts) {
    if (!it.currency || !it.price_per_hour) return null;
    currency = it.currency;
    if (it.ended_at) amount += parseAmount(it.cost ?? "0");
    else if (it.working_at)
      amount += times(costOf(it.price_per_hour, since(it.working_at, now)), it.level_factor ?? "1");
  }
  return currency ? { amount, currency } : null;
}

/** Seconds of work of all attempts that have ended. */
export const workOf = (attempts: readonly JobAttempt[]): number =>
  attempts.reduce((sum, it) => sum + (it.seconds ?? 0), 0);
