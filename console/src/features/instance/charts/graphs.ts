import type { GpuSpec, InstanceMetrics, Metric } from "@/api/generated/types";
import { useText } from "@/i18n";
import { type Graph, type Line, lastOf, mostOf, nice, type Values } from "@/ui/charts/graph";
import { missingOf, valuesOf } from "../series";

const GIB = 1024 ** 3;
const percent = (value: number) => `${Math.round(value)} %`;

/** The four charts of an instance, from what its sources know. */
export function useGraphs(data: InstanceMetrics, spec: GpuSpec | undefined): Graph[] {
  const { t, language } = useText();
  const number = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
  const why = (metric: Metric) => {
    const missing = missingOf(data, metric);
    return missing ? t(`instance.missing_${missing.reason}`) : t("instance.missing_no_data");
  };
  const use = valuesOf(data, "gpu_utilization", "mean");
  const used = valuesOf(data, "gpu_memory_used", "sum");
  const free = valuesOf(data, "gpu_memory_free", "sum");
  const heat = valuesOf(data, "gpu_temperature", "max");
  const power = valuesOf(data, "gpu_power", "sum");
  const cpu = valuesOf(data, "cpu_usage", "sum");
  const memory = valuesOf(data, "memory_used", "sum");
  const known = used && free ? lastOf(used) : -1;
  const total = spec
    ? (spec.video_memory_mib * 1024 ** 2 * spec.gpu_count) / GIB
    : known >= 0
      ? ((used?.[known] ?? 0) + (free?.[known] ?? 0)) / GIB
      : mostOf(used) / GIB;
  const gib = (value: number) => `${number.format(value)} GB`;
  const cores = spec ? spec.cpu_millis / 1000 : null;
  const room = spec ? spec.memory_mib / 1024 : null;
  const share = (values: Values | null, whole: number, unit = 1) =>
    values?.map((value) => (value === null ? null : (value / unit / whole) * 100)) ?? null;
  const line = (
    values: Values | null,
    label: string | null,
    write: Line["write"],
    side: Line["side"] = "left",
  ): Line[] => (values ? [{ values, label, write, side }] : []);
  const hottest = Math.max(90, nice(mostOf(heat), 10));
  const strongest = nice(mostOf(power), 150);
  return [
    {
      title: t("instance.gpuUse"),
      lines: line(use, null, percent),
      left: { min: 0, max: 100, write: percent },
      right: null,
      missing: use ? null : why("gpu_utilization"),
    },
    {
      title: t("instance.gpuMemory"),
      lines: line(used?.map((value) => (value === null ? null : value / GIB)) ?? null, null, (value) =>
        t("instance.ofGb", { used: number.format(value), total: number.format(total) }),
      ),
      left: { min: 0, max: nice(total, 2), write: gib },
      right: null,
      missing: used ? null : why("gpu_memory_used"),
    },
    {
      title: t("instance.heat"),
      lines: [
        ...line(heat, t("instance.temperature"), (value) => `${Math.round(value)} °C`),
        ...line(power, t("instance.power"), (value) => `${Math.round(value)} W`, "right"),
      ],
      left: { min: 30, max: hottest, write: (value) => `${Math.round(value)} °C` },
      right: power ? { min: 0, max: strongest, write: (value) => `${Math.round(value)} W` } : null,
      missing: heat || power ? null : why("gpu_temperature"),
    },
    {
      title: t("instance.cpuMemory"),
      lines: [
        ...line(cores ? share(cpu, cores) : null, t("instance.cpu"), percent),
        ...line(room ? share(memory, room, GIB) : null, t("instance.memory"), percent),
      ].map((one) => ({ ...one, named: true })),
      left: { min: 0, max: 100, write: percent },
      right: null,
      missing: cpu || memory ? null : why("cpu_usage"),
    },
  ];
}
