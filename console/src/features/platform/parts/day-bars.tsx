import { clsx } from "clsx";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { isSome } from "@/lib/money";
import type { DayAmount } from "./month";

/** Cost by day of the month, as bars that add up to the sum above them: instances, and on them jobs. */
export function DayBars({
  days,
  currency,
  label,
}: {
  days: readonly DayAmount[];
  currency: string;
  label: string;
}) {
  const { t } = useText();
  const { money, day, shortDay } = useFormat();
  // for the heights only
  const largest = Math.max(...days.map((it) => Number(it.amount)), 0.01);
  const height = (amount = "0") => `${(Number(amount) / largest) * 100}%`;
  const first = days[0];
  const last = days.at(-1);
  return (
    <figure>
      <div role="img" aria-label={label} className="flex h-24 items-end gap-px border-line border-b">
        {days.map((it) => (
          <span
            key={it.day}
            title={t("platform.dayCost", { day: day(it.day), cost: money(it.amount, currency) })}
            className="flex h-full min-w-0 flex-1 flex-col justify-end hover:opacity-80"
          >
            {isSome(it.parts[1] ?? "0") && (
              <span className="block rounded-t-sm bg-viridian" style={{ height: height(it.parts[1]) }} />
            )}
            <span
              className={clsx("block bg-ultra", !isSome(it.parts[1] ?? "0") && "rounded-t-sm")}
              style={{ height: `max(1%, ${height(it.parts[0])})` }}
            />
          </span>
        ))}
      </div>
      <figcaption className="num mt-1 flex justify-between text-2xs text-ink-3">
        <span>{first && shortDay(Date.parse(first.day))}</span>
        <span>{t("platform.largestDay", { cost: money(largest.toFixed(2), currency) })}</span>
        <span>{last && shortDay(Date.parse(last.day))}</span>
      </figcaption>
    </figure>
  );
}
