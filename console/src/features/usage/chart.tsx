import { clsx } from "clsx";
import { type PointerEvent, useState } from "react";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { isSome } from "@/lib/money";
import { asNumber, barsOf, labelled, topOf } from "./chart-axis";
import { dayOf, daysOf, type Window } from "./period";
import type { Costs, Forecast } from "./report";

interface Props {
  window: Window;
  instances: readonly Costs[];
  jobs: readonly Costs[];
  currency: string;
  forecast: Forecast | null;
}

/** Of instances, which stand below, and jobs. */
const colours = ["bg-ultra", "bg-viridian"];

/** A bar a day, as high as what it cost; days ahead are outlines of what they may. */
export default function CostChart({ window, instances, jobs, currency, forecast }: Props) {
  const { t, language } = useText();
  const { money, utcDay, clock } = useFormat();
  const [at, setAt] = useState<number | null>(null);
  const { bars, highest, sums, sum } = barsOf(daysOf(window), [instances, jobs], currency);
  const names = [t("usage.instances"), t("usage.jobs")];
  const hasBoth = sums.every(isSome);
  const today = dayOf(window.to - 1);
  const isOver = window.to >= window.end;
  const perDay = forecast ? asNumber(forecast.perDay) : 0;
  const top = topOf(Math.max(asNumber(highest.amount), perDay));
  const height = (value: number) => `${(value / top) * 100}%`;
  const point = (event: PointerEvent<HTMLDivElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const index = Math.floor(((event.clientX - left) / width) * bars.length);
    setAt(index >= 0 && index < bars.length ? index : null);
  };
  const bounds = { from: utcDay(bars[0]?.day ?? ""), to: utcDay(bars.at(-1)?.day ?? "") };
  const most = { amount: money(highest.amount, currency), day: utcDay(highest.day) };
  const of = (parts: readonly bigint[]) =>
    parts.map((part, i) => t("usage.partOf", { name: names[i] ?? "", amount: money(part, currency) }));
  const label = !isSome(sum)
    ? t("usage.chartEmpty", bounds)
    : [
        t("usage.chartLabel", { ...bounds, sum: money(sum, currency), most: most.amount, day: most.day }),
        ...(hasBoth ? of(sums) : []),
      ].join(" · ");
  const readout = () => {
    const bar = at === null ? undefined : bars[at];
    if (!bar) return isSome(sum) ? t("usage.highest", most) : null;
    const { day, amount, parts } = bar;
    if (day > today) return `${utcDay(day)} · ${t("usage.ahead")}`;
    const cost = !isSome(amount)
      ? t("usage.noUse")
      : [money(amount, currency), ...(parts.every(isSome) ? of(parts) : [])].join(" · ");
    const time = clock(new Date(window.to).toISOString());
    const until = day === today && !isOver ? ` · ${t("usage.upTo", { time })}` : "";
    return `${utcDay(day)} · ${cost}${until}`;
  };
  return (
    <figure className="px-4 pt-3 pb-2">
      <figcaption className="num flex min-h-5 flex-wrap justify-between gap-x-4 text-sm">
        {hasBoth ? <Legend names={names} /> : <span className="text-ink-3">{t("usage.utc")}</span>}
        <span className="text-ink-2">{readout()}</span>
      </figcaption>
      <div className="mt-2 grid grid-cols-[auto_minmax(0,1fr)] gap-x-2">
        <Axis top={top} currency={currency} language={language} />
        <div
          role="img"
          aria-label={label}
          onPointerMove={point}
          onPointerLeave={() => setAt(null)}
          className="relative h-44 border-line-strong border-b"
        >
          <span className="absolute inset-x-0 top-0 border-line border-t" />
          <span className="absolute inset-x-0 top-1/2 border-line border-t" />
          <div className="absolute inset-0 flex">
            {bars.map(({ day, parts }, i) => (
              <span
                key={day}
                className={clsx(
                  "flex h-full min-w-0 flex-1 items-end",
                  bars.length <= 62 ? "px-[1.5px]" : bars.length <= 130 ? "px-[0.5px]" : "",
                  at === i && "bg-wash",
                )}
              >
                {day > today ? (
                  forecast && <Ahead height={height(perDay)} />
                ) : (
                  <Stack
                    heights={parts.map((part) => height(asNumber(part)))}
                    isOpen={day === today && !isOver}
                  />
                )}
              </span>
            ))}
          </div>
        </div>
        <span />
        <Labels days={bars.map((bar) => bar.day)} language={language} />
      </div>
    </figure>
  );
}

function Legend({ names }: { names: readonly string[] }) {
  return (
    <span className="flex gap-x-4 text-ink-2">
      {names.map((name, i) => (
        <span key={name} className="flex items-center gap-1.5">
          <span className={clsx("block size-2.5 rounded-[2px]", colours[i])} aria-hidden="true" />
          {name}
        </span>
      ))}
    </span>
  );
}

/** The parts of a day, the first below. */
function Stack({ heights, isOpen }: { heights: readonly string[]; isOpen: boolean }) {
  return (
    <span
      className={clsx(
        "flex h-full w-full flex-col-reverse [&>:last-child]:rounded-t-[2px]",
        isOpen && "opacity-60",
      )}
    >
      {heights.map((height, i) =>
        height === "0%" ? null : (
          // biome-ignore lint/suspicious/noArrayIndexKey: its place is what it is
          <span key={i} className={clsx("block w-full", colours[i])} style={{ height }} />
        ),
      )}
    </span>
  );
}

function Ahead({ height }: { height: string }) {
  return (
    <span
      className="block w-full rounded-t-[2px] border border-line-strong border-b-0 border-dashed"
      style={{ height }}
    />
  );
}

function Axis({ top, currency, language }: { top: number; currency: string; language: string }) {
  const digits = top < 4 ? 2 : 0;
  const format = new Intl.NumberFormat(language, {
    style: "currency",
    currency,
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: digits,
    maximumFractionDigits: top / 2 < 1 || top % 2 ? 2 : digits,
  });
  return (
    <div className="num relative w-max text-2xs text-ink-3" aria-hidden="true">
      {/* as wide as the longest */}
      <span className="invisible">{format.format(top)}</span>
      {[top, top / 2, 0].map((value, i) => (
        <span key={value} className="-translate-y-1/2 absolute right-0" style={{ top: `${i * 50}%` }}>
          {format.format(value)}
        </span>
      ))}
    </div>
  );
}

const forms: Record<ReturnType<typeof labelled>[number]["form"], Intl.DateTimeFormatOptions> = {
  weekday: { weekday: "short", day: "numeric" },
  day: { day: "numeric" },
  date: { day: "numeric", month: "short" },
  month: { month: "short" },
};

function Labels({ days, language }: { days: readonly string[]; language: string }) {
  const locale = language === "en" ? "en-GB" : language;
  const write = (day: string, form: keyof typeof forms) =>
    new Intl.DateTimeFormat(locale, { ...forms[form], timeZone: "UTC" }).format(new Date(day));
  return (
    <div className="num relative h-6 overflow-hidden text-2xs text-ink-3" aria-hidden="true">
      {labelled(days).map(({ index, form }) => (
        <span
          key={index}
          className={clsx("absolute top-1 whitespace-nowrap", form === "weekday" && "-translate-x-1/2")}
          style={{ left: `${((index + (form === "weekday" ? 0.5 : 0)) / days.length) * 100}%` }}
        >
          {write(days[index] ?? "", form)}
        </span>
      ))}
    </div>
  );
}
