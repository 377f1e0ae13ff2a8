import type {
  GpuSpec,
  InstanceMetrics,
  MeasuredRun,
  Metric,
  MetricSeries,
  MissingMetric,
  Unit,
} from "../src/api/generated/types";
import type { Kept } from "./kept.ts";

const GIB = 1024 ** 3;
const MOST = 360;

/** Between 0 and 1, the same for the same moment: bursts of some minutes with pauses between. */
function busy(seconds: number): number {
  const phase = (seconds % 2700) / 2700;
  const jitter = Math.sin(seconds / 17) * 0.04 + Math.sin(seconds / 7.3) * 0.03;
  const level = phase < 0.55 ? 0.93 : phase < 0.75 ? 0.08 : 0.62;
  return Math.min(0.99, Math.max(0.01, level + jitter));
}

const units: Partial<Record<Metric, Unit>> = {
  gpu_utilization: "percent",
  gpu_memory_used: "bytes",
  gpu_memory_free: "bytes",
  gpu_temperature: "celsius",
  gpu_power: "watts",
  cpu_usage: "cores",
  memory_used: "bytes",
};

const isGpu = (metric: Metric) => metric.startsWith("gpu");

function amountOf(metric: Metric, seconds: number, spec: GpuSpec): number {
  const load = busy(seconds);
  const slow = (busy(seconds) + busy(seconds - 120) + busy(seconds - 300)) / 3;
  const video = spec.video_memory_mib * 1024 * 1024;
  const used = video * (0.22 + 0.46 * slow);
  switch (metric) {
    case "gpu_utilization":
      return load * 100;
    case "gpu_memory_used":
      return used;
    case "gpu_memory_free":
      return video - used;
    case "gpu_temperature":
      return 38 + 34 * slow;
    case "gpu_power":
      return 42 + 300 * load;
    case "cpu_usage":
      return (spec.cpu_millis / 1000) * (0.12 + 0.3 * slow);
    default:
      return 9 * GIB + 6 * GIB * slow;
  }
}

/** What an instance used. In de-2 there is no Prometheus: its nodes know nothing of GPUs. */
export function metricsOf(
  kept: Kept,
  spec: GpuSpec,
  query: { from?: string; to?: string; step?: number },
): InstanceMetrics {
  const to = query.to ? Date.parse(query.to) : Date.now();
  const from = query.from ? Date.parse(query.from) : to - 3_600_000;
  const step = query.step ?? Math.max(15, Math.ceil((to - from) / 1000 / MOST / 15) * 15);
  const first = Math.floor(from / 1000 / step) * step;
  const count = Math.ceil((to / 1000 - first) / step);
  const runs: MeasuredRun[] = kept.runs
    .filter((run) => run.kind === "running" && (!run.ended_at || Date.parse(run.ended_at) > from))
    .filter((run) => Date.parse(run.started_at) < to)
    .map((run, i) => ({
      attempt: kept.attempt - i,
      started_at: run.started_at,
      ended_at: run.ended_at,
    }));
  const source = kept.it.datacenter === "de-2" ? "nodes" : "prometheus";
  const open = kept.runs.find((run) => !run.ended_at);
  // the host did not report for a while
  const began = open ? Date.parse(open.started_at) / 1000 : 0;
  const silent = open ? began + (Date.now() / 1000 - began) * 0.55 : 0;
  const hole: [number, number] = open ? [silent, silent + Math.min(720, silent - began)] : [0, 0];
  const has = (seconds: number) =>
    (seconds < hole[0] || seconds >= hole[1]) &&
    runs.some(
      (run) =>
        seconds * 1000 >= Date.parse(run.started_at) + 45_000 &&
        (seconds + step) * 1000 <= (run.ended_at ? Date.parse(run.ended_at) : Date.now()),
    );
  const series: MetricSeries[] = [];
  const missing: MissingMetric[] = [];
  for (const [metric, unit] of Object.entries(units) as [Metric, Unit][]) {
    if (source === "nodes" && isGpu(metric)) {
      missing.push({
        metric,
        source,
        reason: "not_reported",
        message: "The nodes of this cluster do not report GPUs.",
      });
      continue;
    }
    const values = Array.from({ length: count }, (_, i) => {
      const seconds = first + i * step;
      return has(seconds) ? Math.round(amountOf(metric, seconds, spec) * 100) / 100 : null;
    });
    if (values.some((value) => value !== null))
      series.push({ metric, unit, gpu: isGpu(metric) ? "0" : null, source, values });
    else
      missing.push({
        metric,
        source,
        reason: runs.length > 0 ? "no_data" : "not_running",
        message: "There is nothing.",
      });
  }
  const at = (seconds: number) => new Date(seconds * 1000).toISOString();
  return { from: at(first), to: at(first + count * step), step, series, missing, runs };
}
