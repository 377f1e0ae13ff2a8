import type { StockCapacity } from "@/api/generated/types";
import { useText } from "@/i18n";
import { type Gap, type Graph, mostOf, topOf, type Values } from "@/ui/charts/graph";

const seconds = (time: string) => Date.parse(time) / 1000;

/** The beginning of each step, in seconds since the epoch. */
export const timesOf = ({ points }: StockCapacity) => points.map(({ at }) => seconds(at));

/** Steps in which nothing was counted. */
export function gapsOf({ points, to }: StockCapacity): Gap[] {
  const gaps: Gap[] = [];
  points.forEach(({ at, units }, i) => {
    if (units) return;
    const from = seconds(at);
    const end = seconds(points[i + 1]?.at ?? to);
    const last = gaps.at(-1);
    if (last?.to === from) last.to = end;
    else gaps.push({ from, to: end });
  });
  return gaps;
}

/** In how many of the steps that were counted no unit was free for a moment at least. */
export function soldOutOf({ points }: StockCapacity) {
  const counted = points.flatMap(({ units }) => (units && units.total > 0 ? [units] : []));
  return { soldOut: counted.filter((it) => it.least_available === 0).length, counted: counted.length };
}

/** What was used of all units, and what was free. */
export function useCapacityGraphs({ points }: StockCapacity): { use: Graph; free: Graph } {
  const { t, language } = useText();
  const number = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
  const write = (value: number) => number.format(value);
  const of = (name: "used" | "total" | "available" | "least_available"): Values =>
    points.map(({ units }) => units?.[name] ?? null);
  const graph = (title: string, names: { label: string; values: Values }[]): Graph => ({
    title,
    lines: names.map((name) => ({ ...name, named: true, side: "left", write })),
    left: { min: 0, max: topOf(mostOf(...names.map(({ values }) => values))), write },
    right: null,
    missing: null,
  });
  return {
    use: graph(t("stock.capacityUse"), [
      { label: t("stock.used"), values: of("used") },
      { label: t("stock.total"), values: of("total") },
    ]),
    free: graph(t("stock.capacityFree"), [
      { label: t("stock.onAverage"), values: of("available") },
      { label: t("stock.atLeast"), values: of("least_available") },
    ]),
  };
}
