import type { Allocation, GpuSpec, NewGpuSpec } from "@/api/generated/types";
import type { Fact } from "@/domain/catalogue/changed";
import { labelsText } from "@/domain/catalogue/labels";
import { type Text, useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { parseAmount } from "@/lib/money";

const gib = (mib: number) => Math.round((mib / 1024) * 100) / 100;

export const kindWord = (kind: Allocation["kind"], t: Text) =>
  ({
    device: t("catalogue.kindDevice"),
    mig: t("catalogue.kindMig"),
    time_slice: t("catalogue.kindTimeSlice"),
    hami: t("catalogue.kindHami"),
    dra: t("catalogue.kindDra"),
  })[kind];

/** "Whole GPUs, nvidia.com/gpu". */
export function allocationText(allocation: Allocation, t: Text, percent: (part: number) => string): string {
  const kind = kindWord(allocation.kind, t);
  if ("resource" in allocation) return `${kind}, ${allocation.resource}`;
  if (allocation.kind === "hami")
    return t("catalogue.hamiText", {
      kind,
      size: gib(allocation.memory_mib),
      cores: percent(allocation.cores / 100),
    });
  return [`${kind}, ${allocation.device_class}`, ...(allocation.selectors ?? [])].join(" · ");
}

/** A specification in words, field by field: what differs is shown before it is saved. */
export function useSpecFacts() {
  const { t } = useText();
  const { money, percent } = useFormat();
  return (spec: NewGpuSpec & Partial<Pick<GpuSpec, "state">>): Fact[] => {
    const hold = spec.hold_price_fraction ?? null;
    return [
      ["name", t("catalogue.name"), spec.name],
      ["gpu_model", t("catalogue.gpuModel"), spec.gpu_model],
      ["gpu_count", t("catalogue.gpuCount"), String(spec.gpu_count)],
      ["gpu_cores", t("catalogue.gpuCores"), String(spec.gpu_cores)],
      ["video", t("catalogue.videoMemory"), t("catalogue.gb", { size: gib(spec.video_memory_mib) })],
      ["cpu", t("catalogue.cpu"), String(spec.cpu_millis / 1000)],
      ["memory", t("catalogue.memory"), t("catalogue.gb", { size: gib(spec.memory_mib) })],
      ["disk", t("catalogue.disk"), t("catalogue.gb", { size: spec.disk_gib })],
      [
        "price",
        t("catalogue.price"),
        /^\d+(\.\d+)?$/.test(spec.price_per_hour) && /^[A-Z]{3}$/.test(spec.currency)
          ? t("ui.perHour", { price: money(parseAmount(spec.price_per_hour), spec.currency) })
          : spec.price_per_hour,
      ],
      ["hold", t("catalogue.hold"), hold === null ? t("catalogue.noHold") : percent(Number(hold))],
      ["allocation", t("catalogue.allocation"), allocationText(spec.allocation, t, percent)],
      ["labels", t("catalogue.nodeSelector"), labelsText(spec.node_selector ?? {}).replaceAll("\n", ", ")],
      ...(spec.state
        ? ([
            [
              "state",
              t("catalogue.state"),
              t(spec.state === "active" ? "catalogue.forSale" : "catalogue.retired"),
            ],
          ] as const)
        : []),
    ].map(([key, label, value]) => ({ key, label, value }) as Fact);
  };
}
