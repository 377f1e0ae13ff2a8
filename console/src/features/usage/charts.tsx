import { lazy, Suspense } from "react";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import type { Window } from "./period";
import { type Costs, type Forecast, sumOf } from "./report";

const CostChart = lazy(() => import("./chart"));

/** One for each currency. */
export function Charts({
  instances,
  jobs,
  window,
  forecast,
}: {
  instances: readonly Costs[];
  jobs: readonly Costs[];
  window: Window;
  forecast: Forecast | null;
}) {
  const currencies = [...sumOf([...instances, ...jobs]).keys()];
  return (
    <Suspense fallback={<div className="h-61" />}>
      {(currencies.length > 0 ? currencies : ["USD"]).map((currency) => (
        <CostChart
          key={currency}
          instances={instances}
          jobs={jobs}
          window={window}
          currency={currency}
          forecast={forecast}
        />
      ))}
    </Suspense>
  );
}

export function ForecastLine({ forecast, window }: { forecast: Forecast | null; window: Window }) {
  const { t } = useText();
  const { money, utcMonth } = useFormat();
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
