import "uplot/dist/uPlot.min.css";
import { useEffect, useRef, useSyncExternalStore } from "react";
import uPlot from "uplot";
import { useText } from "@/i18n";
import { type Gap, lastOf } from "../series";
import type { Graph } from "./graphs";
import { optionsOf } from "./options";

const HEIGHT = 148;

function subscribe(listener: () => void) {
  const watch = new MutationObserver(listener);
  watch.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => watch.disconnect();
}
const useTheme = () => useSyncExternalStore(subscribe, () => document.documentElement.dataset.theme ?? "");

interface Props {
  graph: Graph;
  times: readonly number[];
  /** The window that was asked for, in seconds. */
  window: readonly [number, number];
  gaps: readonly Gap[];
  /** The step that is pointed at in any chart. */
  at: number | null;
  onPoint: (at: number | null) => void;
}

/** Lines over time, with the value that is newest or pointed at. */
export function Chart({ graph, times, window, gaps, at, onPoint }: Props) {
  return (
    <figure className="min-w-0 border-line px-4 pt-3 pb-2 max-md:border-b max-md:last:border-b-0 md:nth-[odd]:border-r md:nth-[n+3]:border-t">
      <figcaption className="flex flex-wrap items-center justify-between gap-x-3 text-sm">
        <span className="font-medium">{graph.title}</span>
        <Readout graph={graph} at={at} />
      </figcaption>
      {graph.missing ? (
        <p className="grid h-37 place-items-center text-center text-ink-3 text-xs">{graph.missing}</p>
      ) : (
        <Plot graph={graph} times={times} window={window} gaps={gaps} onPoint={onPoint} />
      )}
    </figure>
  );
}

function Readout({ graph, at }: { graph: Graph; at: number | null }) {
  const { t } = useText();
  if (graph.missing)
    return (
      <span className="text-ink-3">
        –<span className="sr-only">{graph.missing}</span>
      </span>
    );
  return (
    <span className="num flex gap-3 text-ink-2">
      {graph.lines.map((line, i) => {
        const value = line.values[at ?? lastOf(line.values)];
        return (
          <span key={line.label ?? graph.title} className="flex items-center gap-1.5">
            {line.label && (
              <svg viewBox="0 0 14 2" className="h-0.5 w-3.5" aria-hidden="true">
                <path
                  d="M0 1H14"
                  className={i === 0 ? "stroke-ultra" : "stroke-viridian"}
                  strokeWidth="2"
                  strokeDasharray={i === 0 ? undefined : "3 2"}
                />
              </svg>
            )}
            <span className={line.named ? undefined : "sr-only"}>{line.label}</span>
            {value == null ? <span title={t("instance.noReading")}>–</span> : line.write(value)}
          </span>
        );
      })}
    </span>
  );
}

function Plot({ graph, times, window, gaps, onPoint }: Omit<Props, "at">) {
  const { t, language } = useText();
  const theme = useTheme();
  const box = useRef<HTMLDivElement>(null);
  const point = useRef(onPoint);
  useEffect(() => {
    point.current = onPoint;
  }, [onPoint]);
  // the lines' functions are made anew at each draw: what they show is what counts
  const data = JSON.stringify([times, graph.lines.map((line) => line.values), gaps, window]);
  const shape = `${theme} ${language} ${graph.left.max} ${graph.right?.max}`;
  const latest = useRef(graph);
  useEffect(() => {
    latest.current = graph;
  });
  useEffect(() => {
    const element = box.current;
    if (!element || !shape) return;
    const [xs, lines, holes, range] = JSON.parse(data);
    const plot = new uPlot(
      optionsOf({
        graph: latest.current,
        gaps: holes,
        window: range,
        width: element.clientWidth,
        height: HEIGHT,
        language,
        onPoint: (index) => point.current(index),
      }),
      [xs, ...lines],
      element,
    );
    const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [data, shape, language]);
  const words = graph.lines
    .map((line) => {
      const value = line.values[lastOf(line.values)];
      return value == null ? null : `${line.label ?? graph.title} ${line.write(value)}`;
    })
    .filter(Boolean)
    .join(", ");
  return (
    <div
      ref={box}
      role="img"
      aria-label={t("instance.chartLabel", { title: graph.title, values: words })}
      className="-ml-1 h-37"
    />
  );
}
