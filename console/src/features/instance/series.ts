import type { InstanceMetrics, Metric, MissingMetric } from "@/api/generated/types";
import type { Gap, Values } from "@/ui/charts/graph";

/** The beginning of each step, in seconds since the epoch. */
export const timesOf = ({ from, step, series }: InstanceMetrics): number[] =>
  Array.from(
    { length: series[0]?.values.length ?? 0 },
    (_, i) => Math.floor(Date.parse(from) / 1000) + i * step,
  );

/** One metric of all GPUs: their mean, or their sum. Where two sources know it, the first that has a value counts. */
export function valuesOf(
  { series }: InstanceMetrics,
  metric: Metric,
  together: "mean" | "sum" | "max",
): Values | null {
  const found = series.filter((it) => it.metric === metric);
  if (found.length === 0) return null;
  const gpus = [...new Set(found.map((it) => it.gpu))];
  const length = Math.max(...found.map((it) => it.values.length));
  return Array.from({ length }, (_, i) => {
    const values = gpus.flatMap((gpu) => {
      const known = found.find((it) => it.gpu === gpu && it.values[i] != null);
      return known ? [known.values[i] as number] : [];
    });
    if (values.length === 0) return null;
    if (together === "max") return Math.max(...values);
    const sum = values.reduce((a, b) => a + b, 0);
    return together === "sum" ? sum : sum / values.length;
  });
}

/** A run loses its first minute: the first readings lie before it. */
const SETTLING = 90;

/** Times within runs of which nothing is known of any metric. */
export function gapsOf(metrics: InstanceMetrics): Gap[] {
  const times = timesOf(metrics);
  const { step, series, runs } = metrics;
  const isRunning = (at: number) =>
    runs.some(
      (run) =>
        at >= Date.parse(run.started_at) / 1000 + SETTLING &&
        at + 2 * step <= (run.ended_at ? Date.parse(run.ended_at) : Date.parse(metrics.to)) / 1000,
    );
  const gaps: Gap[] = [];
  times.forEach((at, i) => {
    if (!isRunning(at) || series.some((it) => it.values[i] != null)) return;
    const last = gaps.at(-1);
    if (last && last.to === at) last.to = at + step;
    else gaps.push({ from: at, to: at + step });
  });
  return gaps;
}

/** Why a metric has no values, as its first source says. */
export const missingOf = ({ missing }: InstanceMetrics, metric: Metric): MissingMetric | null =>
  missing.find((it) => it.metric === metric) ?? null;
