import { expect, test } from "vitest";
import type { InstanceMetrics, MetricSeries } from "@/api/generated/types";
import { lastOf } from "@/ui/charts/graph";
import { gapsOf, missingOf, timesOf, valuesOf } from "./series";

const series = (values: (number | null)[], more: Partial<MetricSeries> = {}): MetricSeries => ({
  metric: "gpu_utilization",
  unit: "percent",
  gpu: "0",
  source: "prometheus",
  values,
  ...more,
});

const FROM = Date.UTC(2026, 10, 26, 10) / 1000;
const metrics = (all: MetricSeries[], more: Partial<InstanceMetrics> = {}): InstanceMetrics => ({
  from: new Date(FROM * 1000).toISOString(),
  to: new Date((FROM + (all[0]?.values.length ?? 0) * 60) * 1000).toISOString(),
  step: 60,
  series: all,
  missing: [],
  runs: [{ attempt: 1, started_at: new Date(FROM * 1000).toISOString(), ended_at: null }],
  ...more,
});

test("a gap within a run is found; the run's first minute and the last steps are none", () => {
  const data = metrics([series([null, null, 5, 6, null, null, null, 9, 9, 9, null])]);
  expect(gapsOf(data)).toEqual([{ from: FROM + 240, to: FROM + 420 }]);
  expect(timesOf(data)[1]).toBe(FROM + 60);
});

test("what any metric knows is no gap", () => {
  const cpu = series([1, 1, 1, 1, 1, 1, 1], { metric: "cpu_usage", gpu: null });
  expect(gapsOf(metrics([series([5, 5, 5, null, 5, 5, 5]), cpu]))).toEqual([]);
});

test("outside of runs there is no gap", () => {
  const data = metrics([series([null, null, null, null, null, null])], { runs: [] });
  expect(gapsOf(data)).toEqual([]);
});

test("GPUs are put together, and a second source fills what the first does not know", () => {
  const data = metrics([
    series([10, null, 30]),
    series([30, null, 50], { gpu: "1" }),
    series([1, null, 3], { metric: "cpu_usage", gpu: null }),
    series([7, 8, 9], { metric: "cpu_usage", gpu: null, source: "nodes" }),
  ]);
  expect(valuesOf(data, "gpu_utilization", "mean")).toEqual([20, null, 40]);
  expect(valuesOf(data, "gpu_utilization", "sum")).toEqual([40, null, 80]);
  expect(valuesOf(data, "gpu_utilization", "max")).toEqual([30, null, 50]);
  expect(valuesOf(data, "cpu_usage", "sum")).toEqual([1, 8, 3]);
  expect(valuesOf(data, "gpu_power", "sum")).toBeNull();
  expect(lastOf([1, 2, null])).toBe(1);
  expect(lastOf([null])).toBe(-1);
});

test("what is missing has its reason", () => {
  const missing = [{ metric: "gpu_power", source: "nodes", reason: "not_reported", message: "" }] as const;
  expect(missingOf(metrics([], { missing: [...missing] }), "gpu_power")?.reason).toBe("not_reported");
});
