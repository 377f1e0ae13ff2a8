import type { Budget } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { partOf } from "@/lib/money";
import { Meter, toneOf } from "@/ui/meter";

/** What is spent of the budget, with its steps as marks. */
export function BudgetBar({ budget: { terms, spent, steps } }: { budget: Budget }) {
  const { t } = useText();
  const { money } = useFormat();
  const part = partOf(spent, terms.amount);
  const tone = toneOf(part);
  return (
    <Meter
      part={part}
      tone={tone === "calm" ? "ultra" : tone}
      marks={steps.filter((step) => step.percent < 100).map((step) => step.percent / 100)}
      label={t("usage.budgetBar", {
        spent: money(spent, terms.currency),
        amount: money(terms.amount, terms.currency),
        percent: Math.floor(part * 100),
      })}
    />
  );
}
