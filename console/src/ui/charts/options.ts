import type uPlot from "uplot";
import type { Across, Gap, Graph, Line, Scale } from "./graph";

const FONT = '11px "IBM Plex Sans Variable", sans-serif';
const LEFT = 46;
const RIGHT = 42;

/** How a graph is drawn: our colours and type, gaps as washed bands, one pointer for all charts. */
export function optionsOf({
  graph,
  across,
  gaps,
  width,
  height,
  group,
  onPoint,
}: {
  graph: Graph;
  across: Across;
  gaps: readonly Gap[];
  width: number;
  height: number;
  group: string;
  onPoint: (index: number | null) => void;
}): uPlot.Options {
  const css = getComputedStyle(document.documentElement);
  const colour = (name: string) => css.getPropertyValue(`--${name}`).trim();
  const [ink, line, wash] = [colour("ink-3"), colour("line"), colour("wash")];
  const bold = [colour("ultra"), colour("viridian")];
  const lookOf = (it: Line): uPlot.Series => {
    if (it.faint) return { stroke: colour("line-strong"), width: 0.75, alpha: 0.55 };
    const i = graph.lines.filter((other) => !other.faint).indexOf(it);
    return { stroke: bold[i] ?? ink, width: 1.5, ...(i > 0 && { dash: [4, 3] }) };
  };
  const axis = (side: 1 | 3, scale: string, of: Scale): uPlot.Axis => ({
    scale,
    side,
    size: side === 3 ? LEFT : RIGHT,
    gap: 4,
    font: FONT,
    stroke: ink,
    ticks: { show: false },
    grid: { show: side === 3, stroke: line, width: 1 },
    splits: () => [of.min, (of.min + of.max) / 2, of.max],
    values: (_, splits) =>
      splits.map((value, i) =>
        i === 2 ? of.write(value) : (of.short?.(value) ?? String(Math.round(value))),
      ),
  });
  return {
    width,
    height,
    padding: [8, graph.right ? 0 : 18, 0, 0],
    legend: { show: false },
    cursor: {
      sync: { key: group },
      y: false,
      drag: { x: false, y: false },
      points: { size: 5 },
    },
    scales: {
      x: { time: across.isTime, range: () => [across.window[0], across.window[1]] },
      left: { range: () => [graph.left.min, graph.left.max] },
      ...(graph.right && {
        right: { range: () => [graph.right?.min ?? 0, graph.right?.max ?? 1] as [number, number] },
      }),
    },
    series: [
      {},
      ...graph.lines.map((it) => ({
        ...lookOf(it),
        scale: it.side,
        points: { show: false },
        spanGaps: false,
      })),
    ],
    axes: [
      {
        font: FONT,
        stroke: ink,
        size: 24,
        gap: 4,
        space: across.space,
        ticks: { show: false },
        grid: { show: false },
        values: (_, splits) => across.write(splits),
        ...(across.increments && { incrs: across.increments }),
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
