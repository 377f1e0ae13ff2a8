import type { BudgetTerms, UsageGroup } from "@/api/generated/types";
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

/** The groups of one tenant, summed by currency. */
export const totalsOf = (groups: readonly UsageGroup[]) => totalOf(groups, (it) => parseAmount(it.amount));
