import type { Budget, BudgetStep } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { inCents, parseAmount } from "@/lib/money";
import { Button } from "@/ui/button";
import { PriceTag } from "@/ui/money";
import { Empty, Panel, Section } from "@/ui/page";
import { type Column, Table } from "@/ui/table";
import { BudgetBar } from "./budget-bar";
import { Outlook } from "./budget-card";
import { isSpent } from "./is-spent";

/** The budget, what is left of it, and what happens at each of its steps. */
export function BudgetSection({ budget }: { budget: Budget | null }) {
  const { t } = useText();
  return (
    <Section
      title={t("usage.budgetSection")}
      hint={t("usage.budgetHint")}
      actions={
        <Button small disabled={t("usage.adminOnly")}>
          {t("usage.changeBudget")}
        </Button>
      }
    >
      {budget ? (
        <div className="space-y-4">
          <Reached budget={budget} />
          <Spent budget={budget} />
          <Steps budget={budget} />
          <AtLimit budget={budget} />
        </div>
      ) : (
        <Panel>
          <Empty title={t("usage.noBudget")}>{t("usage.noBudgetHint")}</Empty>
        </Panel>
      )}
    </Section>
  );
}

function Reached({ budget }: { budget: Budget }) {
  const { t } = useText();
  const { time, utcMonth } = useFormat();
  const { terms, from, renews_at } = budget;
  if (!isSpent(budget)) return null;
  return (
    <div role="status" className="rounded-lg border border-vermilion bg-vermilion-wash px-4 py-3">
      <p className="font-medium text-vermilion">{t("usage.reachedTitle", { month: utcMonth(from) })}</p>
      <p className="mt-0.5 max-w-[68ch] text-sm">
        {terms.at_limit === "notify"
          ? t("usage.reachedNotifies")
          : t("usage.reachedStops", { time: time(renews_at) })}
      </p>
    </div>
  );
}

function Spent({ budget }: { budget: Budget }) {
  const { t } = useText();
  const { money, time, utcMonth } = useFormat();
  const { terms } = budget;
  const [running, held] = inCents([parseAmount(budget.spent_running), parseAmount(budget.spent_held)]);
  const facts: { name: string; value: React.ReactNode; hint?: string }[] = [
    { name: t("usage.spentRunning"), value: money(running ?? budget.spent_running, terms.currency) },
    { name: t("usage.spentHeld"), value: money(held ?? budget.spent_held, terms.currency) },
    {
      name: t("usage.rateNow"),
      value: <PriceTag perHour={budget.rate_per_hour} currency={terms.currency} />,
    },
    { name: t("usage.renews"), value: time(budget.renews_at) },
    ...(budget.worst_overspend === null
      ? []
      : [
          {
            name: t("usage.overspend"),
            value: money(budget.worst_overspend, terms.currency),
            hint: t("usage.overspendHint"),
          },
        ]),
  ];
  return (
    <Panel className="p-4">
      <p className="num flex flex-wrap items-baseline justify-between gap-x-4">
        <span>
          <span className="font-medium text-lg">{money(budget.spent, terms.currency)}</span>{" "}
          <span className="text-ink-2 text-sm">
            {t("usage.budgetOf", { amount: money(terms.amount, terms.currency) })} · {utcMonth(budget.from)}
          </span>
        </span>
        <span className="text-ink-2 text-sm">
          <Outlook budget={budget} />
        </span>
      </p>
      <div className="mt-3 mb-4">
        <BudgetBar budget={budget} />
      </div>
      <dl className="num grid grid-cols-2 gap-x-6 gap-y-3 text-sm md:grid-cols-5">
        {facts.map(({ name, value, hint }) => (
          <div key={name} className="min-w-0">
            <dt className="text-ink-3 text-xs">{name}</dt>
            <dd>{value}</dd>
            {hint && <dd className="text-ink-3 text-xs">{hint}</dd>}
          </div>
        ))}
      </dl>
    </Panel>
  );
}

function Steps({ budget }: { budget: Budget }) {
  const { t } = useText();
  const { money, time } = useFormat();
  const { currency, at_limit } = budget.terms;
  const when = (step: BudgetStep) => {
    if (step.reached_at)
      return (
        <span className="num font-medium">{t("usage.stepReached", { time: time(step.reached_at) })}</span>
      );
    return (
      <span className="num text-ink-3">
        {step.expected_at ? t("usage.stepExpected", { time: time(step.expected_at) }) : t("usage.stepNot")}
      </span>
    );
  };
  const does = (step: BudgetStep) => {
    if (step.percent < 100) return t("usage.stepWarn");
    return at_limit === "notify" ? t("usage.stepNotify") : t("usage.stepStop");
  };
  const percent = (step: BudgetStep) => (
    <span className="num font-medium text-sm">{t("usage.step", { percent: step.percent })}</span>
  );
  const amount = (step: BudgetStep) => <span className="num text-sm">{money(step.amount, currency)}</span>;
  const columns: Column<BudgetStep>[] = [
    { key: "percent", label: t("usage.steps"), width: "5rem", cell: percent },
    { key: "amount", label: t("usage.stepAmount"), width: "6rem", end: true, cell: amount },
    {
      key: "when",
      label: t("usage.stepWhen"),
      width: "minmax(12rem, 1fr)",
      cell: (step) => <span className="text-sm">{when(step)}</span>,
    },
    {
      key: "does",
      label: t("usage.stepDoes"),
      width: "minmax(12rem, 1.2fr)",
      cell: (step) => <span className="text-ink-2 text-sm">{does(step)}</span>,
    },
  ];
  return (
    <Table
      label={t("usage.steps")}
      items={budget.steps}
      columns={columns}
      rowKey={(step) => String(step.percent)}
      rowHeight={44}
      empty={null}
      narrow={(step) => (
        <div className="grid grid-cols-[3rem_minmax(0,1fr)_auto] gap-x-3 text-sm">
          {percent(step)}
          <span className="min-w-0">
            {when(step)}
            <span className="block text-ink-3 text-xs">{does(step)}</span>
          </span>
          {amount(step)}
        </div>
      )}
    />
  );
}

/** What happens when all is spent, in its order. */
function AtLimit({ budget: { terms, renews_at } }: { budget: Budget }) {
  const { t } = useText();
  const { time } = useFormat();
  const steps =
    terms.at_limit === "notify"
      ? [t("usage.atLimitNotify")]
      : [
          t("usage.atLimitWarn"),
          t("usage.atLimitStop"),
          t("usage.atLimitStart"),
          t("usage.atLimitData"),
          t("usage.atLimitEnd", { time: time(renews_at) }),
        ];
  return (
    <Panel className="px-4 py-3">
      <h3 className="font-medium text-sm">{t("usage.atLimit")}</h3>
      <ol className="mt-1 list-decimal gap-x-10 space-y-0.5 pl-5 text-ink-2 text-sm marker:text-ink-3 md:columns-2 [&>li]:break-inside-avoid">
        {steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
    </Panel>
  );
}
