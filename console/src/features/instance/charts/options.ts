import type uPlot from "uplot";
import type { Gap } from "../series";
import type { Graph } from "./graphs";

const FONT = '11px "IBM Plex Sans Variable", sans-serif';
const LEFT = 46;
const RIGHT = 42;

/** How a graph is drawn: our colours and type, gaps as washed bands, one pointer for all charts. */
export function optionsOf({
  graph,
  gaps,
  window,
  width,
  height,
  language,
  onPoint,
}: {
  graph: Graph;
  gaps: readonly Gap[];
  window: readonly [number, number];
  width: number;
  height: number;
  language: string;
  onPoint: (index: number | null) => void;
}): uPlot.Options {
  const css = getComputedStyle(document.documentElement);
  const colour = (name: string) => css.getPropertyValue(`--${name}`).trim();
  const colours = [colour("ultra"), colour("viridian")];
  const [ink, line, wash] = [colour("ink-3"), colour("line"), colour("wash")];
  const long = window[1] - window[0] > 36 * 3600;
  const time = new Intl.DateTimeFormat(
    language === "en" ? "en-GB" : language,
    long ? { weekday: "short", day: "numeric" } : { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  );
  const axis = (side: 1 | 3, scale: string, of: NonNullable<Graph["right"]>): uPlot.Axis => ({
    scale,
    side,
    size: side === 3 ? LEFT : RIGHT,
    gap: 4,
    font: FONT,
    stroke: ink,
    ticks: { show: false },
    grid: { show: side === 3, stroke: line, width: 1 },
    splits: () => [of.min, (of.min + of.max) / 2, of.max],
    values: (_, splits) => splits.map((value, i) => (i === 2 ? of.write(value) : String(Math.round(value)))),
  });
  return {
    width,
    height,
    padding: [8, graph.right ? 0 : 18, 0, 0],
    legend: { show: false },
    cursor: {
      sync: { key: "instance" },
      y: false,
      drag: { x: false, y: false },
      points: { size: 5 },
    },
    scales: {
      x: { range: () => [window[0], window[1]] },
      left: { range: () => [graph.left.min, graph.left.max] },
      ...(graph.right && {
        right: { range: () => [graph.right?.min ?? 0, graph.right?.max ?? 1] as [number, number] },
      }),
    },
    series: [
      {},
      ...graph.lines.map(({ side }, i) => ({
        scale: side,
        stroke: colours[i] ?? ink,
        width: 1.5,
        points: { show: false },
        spanGaps: false,
        ...(i > 0 && { dash: [4, 3] }),
      })),
    ],
    axes: [
      {
        font: FONT,
        stroke: ink,
        size: 24,
        gap: 4,
        space: long ? 48 : 46,
        ticks: { show: false },
        grid: { show: false },
        values: (_, splits) => splits.map((value) => time.format(value * 1000)),
        ...(long && { incrs: [86_400] }),
      },
      axis(3, "left", graph.left),
      ...(graph.right ? [axis(1, "right", graph.right)] : []),
    ],
    hooks: {
      drawClear: [
        (plot) => {
          const { ctx, bbox } = plot;
          ctx.save();
          ctx.fillStyle = wash;
          for (const gap of gaps) {
            const from = Math.max(bbox.left, plot.valToPos(gap.from, "x", true));
            const to = Math.min(bbox.left + bbox.width, plot.valToPos(gap.to, "x", true));
            if (to > from) ctx.fillRect(from, bbox.top, to - from, bbox.height);
          }
          ctx.restore();
        },
      ],
      setCursor: [
        (plot) => {
          const { idx, left } = plot.cursor;
          onPoint(idx == null || left == null || left < 0 ? null : idx);
        },
      ],
    },
  };
}
