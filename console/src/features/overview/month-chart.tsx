import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import type { Amount } from "@/lib/money";
import { largest, type Month, pathOf } from "./month";

const WIDTH = 300;
const HEIGHT = 84;

/** The month's sum by day, the way it leads to the end, and the line of the budget. */
export function MonthChart({ month, budget }: { month: Month; budget: Amount | null }) {
  const { t } = useText();
  const { money, shortDay } = useFormat();
  const most = largest(budget, month.forecast, month.sum);
  const line = pathOf(month.points, most, WIDTH, HEIGHT);
  const last = month.points.at(-1) ?? { at: 0, sum: month.sum };
  const ahead = pathOf([last, { at: 1, sum: month.forecast }], most, WIDTH, HEIGHT);
  const level = budget === null ? null : pathOf([{ at: 0, sum: budget }], most, WIDTH, HEIGHT);
  const words = t("overview.chart", {
    spent: money(month.sum, month.currency),
    forecast: money(month.forecast, month.currency),
  });
  return (
    <figure className="mt-3">
      {budget !== null && (
        <figcaption className="num text-2xs text-ink-3">
          {t("overview.budget", { amount: money(budget, month.currency) })}
        </figcaption>
      )}
      <svg
        role="img"
        aria-label={words}
        viewBox={`0 -2 ${WIDTH} ${HEIGHT + 4}`}
        preserveAspectRatio="none"
        className="h-24 w-full overflow-visible"
        fill="none"
      >
        <path
          d={`${line}L${(last.at * WIDTH).toFixed(1)} ${HEIGHT}L0 ${HEIGHT}Z`}
          className="fill-ultra-wash"
        />
        {level && (
          <path
            d={`${level}h${WIDTH}`}
            className="stroke-vermilion"
            strokeDasharray="2 3"
            vectorEffect="non-scaling-stroke"
          />
        )}
        <path d={`M0 ${HEIGHT}h${WIDTH}`} className="stroke-line-strong" vectorEffect="non-scaling-stroke" />
        <path d={line} className="stroke-ultra" strokeWidth="2" vectorEffect="non-scaling-stroke" />
        <path
          d={ahead}
          className="stroke-ultra"
          strokeWidth="1.5"
          strokeDasharray="3 3"
          vectorEffect="non-scaling-stroke"
        />
      </svg>
      <p aria-hidden="true" className="num flex justify-between text-2xs text-ink-3">
        <span>1</span>
        <span>8</span>
        <span>15</span>
        <span>22</span>
        <span>{shortDay(month.end - 1)}</span>
      </p>
    </figure>
  );
}
