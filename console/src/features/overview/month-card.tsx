import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { budget as budgetQuery, storages } from "@/api/catalogue";
import type { Budget } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { PageLink } from "@/app/page-link";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { monthlyOf, parseAmount } from "@/lib/money";
import { Panel, Section } from "@/ui/page";
import { type Month, monthOf, spentBy } from "./month";
import { MonthChart } from "./month-chart";
import { usageByDay } from "./queries";

/** What the month costs, against the budget, and where it leads. */
export function MonthCard() {
  const { t, language } = useText();
  const { money, total, shortDay } = useFormat();
  const usage = useLoaded(usageByDay);
  const { data: budget = null, dataUpdatedAt } = useQuery(budgetQuery);
  const { data: kept } = useQuery(storages);
  const now = Math.floor(useNow() / 60_000) * 60_000;
  const month = monthOf(usage, budget, now);
  const title = new Intl.DateTimeFormat(language, { month: "long", timeZone: "UTC" }).format(now);
  const monthly = kept && monthlyOf(kept);
  return (
    <Section
      title={title}
      actions={
        <PageLink to="/usage" className="text-sm text-ultra hover:underline" label={t("overview.usage")} />
      }
    >
      <Panel className="p-4">
        {month ? (
          <>
            <p className="num flex flex-wrap items-baseline gap-x-2">
              <span className="font-medium text-xl">
                {budget ? <Spent budget={budget} asked={dataUpdatedAt} /> : money(month.sum, month.currency)}
              </span>
              {budget && (
                <span className="text-ink-2 text-sm">
                  {t("overview.ofBudget", { amount: money(budget.terms.amount, budget.terms.currency) })}
                </span>
              )}
            </p>
            <Outlook budget={budget} month={month} />
            <MonthChart month={month} budget={budget && parseAmount(budget.terms.amount)} />
          </>
        ) : (
          <p className="text-ink-2 text-sm">{t("overview.nothingSpent")}</p>
        )}
        <dl className="num mt-3 space-y-1 text-sm">
          {month && (
            <>
              <Line name={t("overview.lastDays")}>
                {t("overview.aDay", { price: money(month.perDay, month.currency) })}
              </Line>
              <Line name={t("overview.forecast", { day: shortDay(month.end - 1) })}>
                <span className="font-medium">{money(month.forecast, month.currency)}</span>
              </Line>
            </>
          )}
          <Line name={t("overview.storageBeside")}>
            {monthly ? (
              monthly.size > 0 ? (
                t("overview.aMonth", { price: total(monthly) })
              ) : (
                t("overview.noStorage")
              )
            ) : (
              <span title={t("overview.storageUnknown")}>–</span>
            )}
          </Line>
        </dl>
      </Panel>
    </Section>
  );
}

function Spent({ budget, asked }: { budget: Budget; asked: number }) {
  const { money } = useFormat();
  return <>{money(spentBy(budget, asked, useNow()), budget.terms.currency)}</>;
}

/** Whether the money lasts. */
function Outlook({ budget, month }: { budget: Budget | null; month: Month }) {
  const { t } = useText();
  const { clock } = useFormat();
  if (!budget) return <p className="text-ink-3 text-sm">{t("overview.noBudget")}</p>;
  if (budget.starts_refused)
    return <p className="font-medium text-sm text-vermilion">{t("overview.spent")}</p>;
  if (budget.runs_out_at)
    return (
      <p className="font-medium text-ochre text-sm">
        {t("overview.runsOut", { when: clock(budget.runs_out_at) })}
      </p>
    );
  const isOver = month.forecast > parseAmount(budget.terms.amount);
  return isOver ? (
    <p className="font-medium text-ochre text-sm">{t("overview.forecastOver")}</p>
  ) : (
    <p className="text-sm text-viridian">{t("overview.lasts")}</p>
  );
}

function Line({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex justify-between gap-3">
      <dt className="text-ink-2">{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
