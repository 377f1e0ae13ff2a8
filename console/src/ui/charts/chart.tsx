import "uplot/dist/uPlot.min.css";
import { clsx } from "clsx";
import { useEffect, useRef, useSyncExternalStore } from "react";
import uPlot from "uplot";
import { useText } from "@/i18n";
import { type Across, type Gap, type Graph, type Line, lastOf } from "./graph";
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
  /** Where each value stands on the x axis. */
  xs: readonly number[];
  across: Across;
  gaps?: readonly Gap[];
  /** The value that is pointed at in any chart. */
  at: number | null;
  onPoint: (at: number | null) => void;
  /** Charts of the same group point together. */
  group: string;
  height?: number;
  className?: string;
}

const none: readonly Gap[] = [];

/** Lines, with the value that is newest or pointed at. */
export function Chart({ graph, at, height = HEIGHT, className, ...rest }: Props) {
  return (
    <figure className={clsx("min-w-0 px-4 pt-3 pb-2", className)}>
      <figcaption className="flex flex-wrap items-center justify-between gap-x-3 text-sm">
        <span className="font-medium">{graph.title}</span>
        <Readout graph={graph} at={at} />
      </figcaption>
      {graph.missing ? (
        <p className="grid place-items-center text-center text-ink-3 text-xs" style={{ height }}>
          {graph.missing}
        </p>
      ) : (
        <Plot graph={graph} height={height} {...rest} />
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
  const isFirst = (line: Line) => line === graph.lines.find((it) => !it.faint);
  return (
    <span className="num flex gap-3 text-ink-2">
      {graph.lines.map((line) => {
        const value = line.values[at ?? lastOf(line.values)];
        return (
          <span key={line.label ?? graph.title} className="flex items-center gap-1.5">
            {line.label && (
              <svg viewBox="0 0 14 2" className="h-0.5 w-3.5" aria-hidden="true">
                <path
                  d="M0 1H14"
                  className={
                    line.faint ? "stroke-line-strong" : isFirst(line) ? "stroke-ultra" : "stroke-viridian"
                  }
                  strokeWidth={line.faint ? 1 : 2}
                  strokeDasharray={isFirst(line) || line.faint ? undefined : "3 2"}
                />
              </svg>
            )}
            <span className={line.named ? undefined : "sr-only"}>{line.label}</span>
            {value == null ? <span title={t("ui.noReading")}>–</span> : line.write(value)}
          </span>
        );
      })}
    </span>
  );
}

function Plot({ graph, xs, across, gaps = none, onPoint, group, height = HEIGHT }: Omit<Props, "at">) {
  const { t, language } = useText();
  const theme = useTheme();
  const box = useRef<HTMLDivElement>(null);
  const point = useRef(onPoint);
  useEffect(() => {
    point.current = onPoint;
  }, [onPoint]);
  // the lines' functions are made anew at each draw: what they show is what counts
  const data = JSON.stringify([xs, graph.lines.map((line) => line.values), gaps, across.window]);
  const shape = `${theme} ${language} ${graph.left.max} ${graph.right?.max}`;
  const latest = useRef({ graph, across });
  useEffect(() => {
    latest.current = { graph, across };
  });
  useEffect(() => {
    const element = box.current;
    if (!element || !shape) return;
    const [points, lines, holes] = JSON.parse(data);
    const plot = new uPlot(
      optionsOf({
        ...latest.current,
        gaps: holes,
        width: element.clientWidth,
        height,
        group,
        onPoint: (index) => point.current(index),
      }),
      [points, ...lines],
      element,
    );
    const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [data, shape, height, group]);
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
      aria-label={t("ui.chartLabel", { title: graph.title, values: words })}
      className="-ml-1"
      style={{ height }}
    />
  );
}
