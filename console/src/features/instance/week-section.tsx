import { clsx } from "clsx";
import type { Instance, MeteredRun } from "@/api/generated/types";
import { type Text, useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { Panel, Section } from "@/ui/page";
import { useLength } from "./length";
import { type Week, weekOf } from "./week";

const WIDTH = 700;
const HEIGHT = 22;

/** The last seven days as a ruled line with the billed runs inked in, and the cost of each day. */
export function LastWeek({ it, runs }: { it: Instance; runs: readonly MeteredRun[] | undefined }) {
  const { t } = useText();
  const { total } = useFormat();
  const lengthOf = useLength();
  const now = useNow();
  if (!runs) return null;
  const week = weekOf(runs, now);
  const cost = week.cost.size > 0 ? total(week.cost) : null;
  return (
    <Section title={t("instance.lastWeek")}>
      <Panel className="px-4 pt-4 pb-3 max-md:px-2">
        <Strip week={week} />
        <Days week={week} />
        <div className="num mt-3 flex flex-wrap justify-between gap-x-4 border-line border-t pt-2.5 text-sm max-md:mx-1.5">
          <span className="text-ink-2">
            {week.runs === 0
              ? t("instance.noRuns")
              : t("instance.runsSum", { count: week.runs, duration: lengthOf(week.seconds) })}
            {it.state === "running" && week.runs > 0 && ` · ${t("instance.stillRuns")}`}
          </span>
          <span className="font-medium">
            {cost ? t("instance.onBill", { cost }) : t("instance.nothingOnBill")}
          </span>
        </div>
      </Panel>
    </Section>
  );
}

function Strip({ week }: { week: Week }) {
  const { t } = useText();
  const { begin, end, days, pieces } = week;
  const x = (time: number) => Math.round(((time - begin) / (end - begin)) * WIDTH * 10) / 10;
  const marks = [...days.map((day) => day.begin), end];
  const quarters = days.flatMap((day) => [1, 2, 3].map((q) => day.begin + (q * (day.end - day.begin)) / 4));
  return (
    <svg
      role="img"
      aria-label={t("instance.weekLabel")}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      className="block h-5.5 w-full"
    >
      <path
        d={`M0 ${HEIGHT - 0.5}H${WIDTH}${marks.map((at) => `M${Math.min(WIDTH - 0.5, Math.max(0.5, x(at)))} ${HEIGHT - 9}V${HEIGHT}`).join("")}`}
        className="stroke-line-strong"
        fill="none"
        vectorEffect="non-scaling-stroke"
      />
      <path
        d={quarters.map((at) => `M${x(at)} ${HEIGHT - 4}V${HEIGHT}`).join("")}
        className="stroke-line-strong opacity-60"
        fill="none"
        vectorEffect="non-scaling-stroke"
      />
      {pieces.map((piece) => (
        <rect
          key={`${piece.from} ${piece.held}`}
          x={x(piece.from)}
          width={Math.max(1.5, x(piece.to) - x(piece.from))}
          y={piece.held ? 8 : 1}
          height={piece.held ? HEIGHT - 12 : HEIGHT - 5}
          className={clsx(
            piece.held ? "fill-ochre opacity-50" : "fill-viridian",
            !piece.open && !piece.held && "opacity-55",
          )}
        />
      ))}
    </svg>
  );
}

/** "8 h 05": there is little room. */
function short(seconds: number, t: Text): string {
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return t("instance.minutes", { minutes });
  const hours = Math.floor(minutes / 60);
  return t("instance.hoursShort", { hours, minutes: String(minutes % 60).padStart(2, "0") });
}

function Days({ week }: { week: Week }) {
  const { t } = useText();
  const { total, weekday } = useFormat();
  return (
    <ol className="num mt-1.5 grid grid-cols-7 text-xs">
      {week.days.map((day) => (
        <li key={day.begin} className="min-w-0 pl-1 max-md:text-2xs">
          <span className="block truncate text-ink-3">{weekday(day.begin)}</span>
          {day.cost.size > 0 ? (
            <>
              <span className="block font-medium text-ink">{total(day.cost)}</span>
              <span className="block text-ink-3">{short(day.seconds, t)}</span>
            </>
          ) : (
            <span className="block text-ink-3">
              <span className="max-md:hidden">{t("instance.noRun")}</span>
              <span className="md:hidden">–</span>
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}
