import { getRouteApi } from "@tanstack/react-router";
import { Download } from "lucide-react";
import { lazy, Suspense } from "react";
import { budget as budgetQuery } from "@/api/catalogue";
import { asCurl } from "@/api/client";
import { listUsage } from "@/api/generated/operations";
import type { UsageGroup } from "@/api/generated/types";
import { useLoaded, useLoadedPages } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy";
import { PageHead, Panel, Section } from "@/ui/page";
import { Segmented } from "@/ui/segmented";
import { BudgetCard } from "./budget-card";
import { groupings } from "./choices";
import { useCsv } from "./download";
import { useNames } from "./names";
import { NotInSum } from "./not-in-sum";
import { type Choice, DAY, dayOf, type Window } from "./period";
import { PeriodBar } from "./period-bar";
import { queryOf, usage } from "./queries";
import { type Forecast, forecastOf, rounded, sorted, sumOf } from "./report";
import { UsageTable } from "./table";
import { UsageTabs } from "./tabs";

const CostChart = lazy(() => import("./chart"));
const route = getRouteApi("/_app/usage/");

export function UsagePage() {
  const { t } = useText();
  const { by = "day", ...choice } = route.useSearch();
  const navigate = route.useNavigate();
  const list = useLoadedPages(usage(choice, by));
  const budget = useLoaded(budgetQuery);
  const nameOf = useNames(by === "instance");
  const csv = useCsv(list, by, (group) => nameOf(group).name);
  const { pages } = list.data;
  const [first] = pages;
  const { days, kinds } = first?.whole ?? { days: [], kinds: [] };
  const window = first?.window ?? { from: 0, to: 0, end: 0 };
  const all = pages.flatMap((page) => page.groups);
  const groups = sorted(list.hasNextPage ? all : rounded(all), by, !list.hasNextPage);
  const forecast = choice.period === undefined ? forecastOf(days, window) : null;
  const go = (change: Partial<Choice> & { by?: typeof by | undefined }) =>
    void navigate({ search: (old) => ({ ...old, ...change }), resetScroll: false });
  const words = {
    day: t("usage.byDay"),
    spec: t("usage.bySpec"),
    instance: t("usage.byInstance"),
    kind: t("usage.byKind"),
  };
  return (
    <>
      <PageHead
        title={t("usage.title")}
        actions={
          <>
            <CopyButton
              kind="quiet"
              label={t("ui.copyAsCurl")}
              text={asCurl(listUsage, { query: queryOf(window, by) })}
            />
            <Button busy={csv.busy} onClick={csv.run}>
              <Download className="size-4" aria-hidden="true" />
              {csv.busy ? t("usage.csvBusy") : t("usage.csv")}
            </Button>
          </>
        }
      >
        <Sentence kinds={rounded(kinds)} window={window} />
      </PageHead>
      <UsageTabs />
      <PeriodBar choice={choice} window={window} onChange={go} />
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-x-6 gap-y-6 lg:grid-cols-[minmax(0,1fr)_17rem]">
        <div className="min-w-0">
          <Section title={t("usage.costByDay")}>
            <Panel>
              <Charts days={rounded(days)} window={window} forecast={forecast} />
              {choice.period === undefined && (
                <ForecastLine forecast={forecast} window={window} hasUse={days.length > 0} />
              )}
            </Panel>
          </Section>
          <Section
            title={t("usage.table")}
            hint={list.hasNextPage ? undefined : t("usage.tableHint")}
            actions={
              <Segmented
                label={t("usage.groupBy")}
                value={by}
                choices={groupings.map((value) => ({ value, label: words[value] }))}
                onChange={(next) => go({ by: next === "day" ? undefined : next })}
              />
            }
          >
            <UsageTable
              groups={groups}
              kinds={kinds}
              by={by}
              nameOf={nameOf}
              onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
            />
          </Section>
        </div>
        <div className="min-w-0 space-y-6">
          <BudgetCard budget={budget} />
          <NotInSum />
        </div>
      </div>
    </>
  );
}

/** The sum in words, and what of it still grows. */
function Sentence({ kinds, window }: { kinds: readonly UsageGroup[]; window: Window }) {
  const { t } = useText();
  const { total, utcDay, clock, sentences } = useFormat();
  const bounds = {
    from: utcDay(dayOf(window.from)),
    to: utcDay(dayOf(Math.min(window.end - DAY, window.to - 1))),
  };
  const partOf = (kind: string) => sumOf(kinds.filter((it) => it.group === kind));
  const [running, held] = [partOf("running"), partOf("held")];
  const open = kinds.reduce((sum, it) => sum + it.open_runs, 0);
  const sum = total(sumOf(kinds));
  if (kinds.length === 0) return t("usage.sumNothing", bounds);
  return sentences([
    held.size > 0 && running.size > 0
      ? t("usage.sumParts", { ...bounds, sum, running: total(running), held: total(held) })
      : bounds.from === bounds.to
        ? t("usage.sumDay", { from: bounds.from, sum })
        : t("usage.sum", { ...bounds, sum }),
    open > 0 && t("usage.openRuns", { count: open, time: clock(new Date(window.to).toISOString()) }),
  ]);
}

/** One for each currency. */
function Charts({
  days,
  window,
  forecast,
}: {
  days: readonly UsageGroup[];
  window: Window;
  forecast: Forecast | null;
}) {
  const currencies = [...sumOf(days).keys()];
  return (
    <Suspense fallback={<div className="h-61" />}>
      {(currencies.length > 0 ? currencies : ["USD"]).map((currency) => (
        <CostChart key={currency} days={days} window={window} currency={currency} forecast={forecast} />
      ))}
    </Suspense>
  );
}

function ForecastLine({
  forecast,
  window,
  hasUse,
}: {
  forecast: Forecast | null;
  window: Window;
  hasUse: boolean;
}) {
  const { t } = useText();
  const { money, utcMonth } = useFormat();
  if (!hasUse) return null;
  return (
    <div className="border-line border-t px-4 py-2.5">
      <p className="num flex flex-wrap justify-between gap-x-4 text-sm">
        <span className="text-ink-2">{t("usage.forecast", { month: utcMonth(window.from) })}</span>
        <span className="font-medium">
          {forecast
            ? t("usage.forecastAbout", { amount: money(forecast.amount, forecast.currency) })
            : t("usage.none")}
        </span>
      </p>
      <p className="num text-ink-3 text-xs">
        {forecast
          ? t("usage.forecastHow", {
              count: forecast.days,
              perDay: money(forecast.perDay, forecast.currency),
            })
          : t("usage.forecastNone")}
      </p>
    </div>
  );
}
