import { Link } from "@tanstack/react-router";
import type { Budget } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { isSome, minus } from "@/lib/money";
import { PriceTag } from "@/ui/money";
import { Panel, Section } from "@/ui/page";
import { BudgetBar } from "./budget-bar";
import { isSpent } from "./is-spent";

/** The budget in short, beside the costs. */
export function BudgetCard({ budget }: { budget: Budget | null }) {
  const { t } = useText();
  const { money, utcMonth } = useFormat();
  const link = (
    <Link to="/usage/limits" className="text-sm text-ultra hover:underline">
      {t("usage.budgetLink")}
    </Link>
  );
  if (!budget)
    return (
      <Section title={t("usage.budgetSection")} actions={link}>
        <Panel className="p-4">
          <p className="font-medium text-sm">{t("usage.noBudget")}</p>
          <p className="mt-1 text-ink-2 text-xs">{t("usage.noBudgetHint")}</p>
        </Panel>
      </Section>
    );
  const { terms, spent } = budget;
  return (
    <Section title={t("usage.budgetSection")} actions={link}>
      <Panel className="p-4">
        <p className="text-ink-2 text-xs">{t("usage.budget", { month: utcMonth(budget.from) })}</p>
        <p className="num mt-0.5 mb-3">
          <span className="font-medium text-lg">{money(spent, terms.currency)}</span>{" "}
          <span className="text-ink-2 text-sm">
            {t("usage.budgetOf", { amount: money(terms.amount, terms.currency) })}
          </span>
        </p>
        <BudgetBar budget={budget} />
        <p className="num mt-3 text-ink-2 text-sm">
          {isSpent(budget)
            ? t("usage.budgetSpent")
            : t("usage.budgetLeft", { left: money(minus(terms.amount, spent), terms.currency) })}
          {" · "}
          <PriceTag perHour={budget.rate_per_hour} currency={terms.currency} />
        </p>
        <p className="mt-1 text-ink-3 text-xs">
          <Outlook budget={budget} />
        </p>
        <p className="mt-1 text-ink-3 text-xs">{t("usage.budgetJobs")}</p>
      </Panel>
    </Section>
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
