import type { Budget } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { isSome, minus } from "@/lib/money";
import { ButtonLink } from "@/ui/button";
import { PriceTag } from "@/ui/money";
import { Panel } from "@/ui/page";
import { BudgetBar } from "./budget-bar";
import { isSpent } from "./is-spent";

/** The budget in short, beside the costs. */
export function BudgetCard({ budget }: { budget: Budget | null }) {
  const { t } = useText();
  const { money, utcMonth } = useFormat();
  if (!budget)
    return (
      <Panel className="p-4">
        <h2 className="font-medium">{t("usage.noBudget")}</h2>
        <p className="mt-1 text-ink-2 text-sm">{t("usage.noBudgetHint")}</p>
      </Panel>
    );
  const { terms, spent } = budget;
  const left = minus(terms.amount, spent);
  return (
    <Panel className="p-4">
      <h2 className="text-ink-2 text-sm">{t("usage.budget", { month: utcMonth(budget.from) })}</h2>
      <p className="num mt-1 mb-3">
        <span className="font-medium text-lg">{money(spent, terms.currency)}</span>{" "}
        <span className="text-ink-2 text-sm">
          {t("usage.budgetOf", { amount: money(terms.amount, terms.currency) })}
        </span>
      </p>
      <BudgetBar budget={budget} />
      <p className="num mt-3 text-ink-2 text-sm">
        {isSome(left) ? t("usage.budgetLeft", { left: money(left, terms.currency) }) : t("usage.budgetSpent")}
        {" · "}
        <PriceTag perHour={budget.rate_per_hour} currency={terms.currency} />
      </p>
      <p className="mt-1 mb-3 text-ink-3 text-xs">
        <Outlook budget={budget} />
      </p>
      <ButtonLink small to="/usage/limits">
        {t("usage.budgetLink")}
      </ButtonLink>
    </Panel>
  );
}

/** How long it lasts at the present rate. */
export function Outlook({ budget }: { budget: Budget }) {
  const { t } = useText();
  const { time } = useFormat();
  if (isSpent(budget)) return t("usage.budgetSpent");
  if (budget.runs_out_at)
    return <span className="text-ochre">{t("usage.budgetRunsOut", { time: time(budget.runs_out_at) })}</span>;
  return isSome(budget.rate_per_hour) ? t("usage.budgetLasts") : t("usage.budgetIdle");
}
