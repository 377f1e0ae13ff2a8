import type { Price } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";

const WIDTH = 640;
const HEIGHT = 120;
const TOP = 12;
const BOTTOM = 100;

/** Prices over time: a line that steps, since a price is what it is until it is another. */
export function PriceLine({ prices }: { prices: readonly Price[] }) {
  const { t } = useText();
  const { money, day } = useFormat();
  const now = useNow();
  const steps = [...prices].reverse();
  const first = steps[0];
  const last = steps.at(-1);
  if (!first || !last || steps.length < 2) return null;
  const from = Date.parse(first.effective_from);
  const most = Math.max(...steps.map((it) => Number(it.price_per_hour)));
  const x = (at: number) => Math.round(((at - from) / (now - from)) * WIDTH);
  const y = (price: string) => BOTTOM - (Number(price) / most) * (BOTTOM - TOP);
  const path = steps
    .map((it) => {
      const [start, end] = [
        Date.parse(it.effective_from),
        it.effective_until ? Date.parse(it.effective_until) : now,
      ];
      return `${x(start)} ${y(it.price_per_hour)} L ${x(end)} ${y(it.price_per_hour)}`;
    })
    .join(" L ");
  return (
    <figure className="border-line border-b px-4 pt-3">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={t("catalogue.priceLine", {
          from: money(first.price_per_hour, first.currency),
          to: money(last.price_per_hour, last.currency),
        })}
        className="block h-30 w-full"
        preserveAspectRatio="none"
      >
        <path
          d={`M 0 ${BOTTOM + 0.5} H ${WIDTH}`}
          className="fill-none stroke-line"
          vectorEffect="non-scaling-stroke"
        />
        <path d={`M ${path} V ${BOTTOM} H 0 Z`} className="fill-ultra-wash" />
        <path
          d={`M ${path}`}
          className="fill-none stroke-ultra"
          strokeWidth="1.75"
          vectorEffect="non-scaling-stroke"
        />
      </svg>
      <figcaption className="num -mt-4 flex justify-between pb-2 text-2xs text-ink-3">
        <span>{day(first.effective_from)}</span>
        <span>{t("catalogue.today")}</span>
      </figcaption>
    </figure>
  );
}
