import type { BudgetTerms } from "@/api/generated/types";
import { type Amount, parseAmount, totalOf } from "@/lib/money";

/** What was spent of a budget, in percent rounded down; null without one, or if the currencies differ. */
export function percentSpent(
  terms: Pick<BudgetTerms, "amount" | "currency"> | undefined,
  spent: Amount,
  currency: string,
): number | null {
  if (!terms || terms.currency !== currency) return null;
  const amount = parseAmount(terms.amount);
  return amount === 0n ? 100 : Number((spent * 100n) / amount);
}

/** The groups of a report, summed by currency. Those of jobs without a price cost nothing. */
export const totalsOf = (groups: readonly { amount: string; currency: string | null }[]) =>
  totalOf(
    groups.flatMap(({ amount, currency }) => (currency === null ? [] : [{ amount, currency }])),
    (it) => parseAmount(it.amount),
  );
