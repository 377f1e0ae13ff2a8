import type { GpuSpec } from "@/api/generated/types";
import { gpuTitle } from "@/domain/instances/gpu";
import { useText } from "@/i18n";

type Shape = Pick<
  GpuSpec,
  "gpu_model" | "gpu_count" | "video_memory_mib" | "cpu_millis" | "memory_mib" | "disk_gib"
>;

/** GiB, with at most two digits after the point. */
const gib = (mib: number) => Math.round((mib / 1024) * 100) / 100;

/** "RTX 3080 10 GB · 4 CPU · 16 GB · 50 GB disk": what one unit has, in one line. */
export function useSpecText() {
  const { t } = useText();
  return (spec: Shape) =>
    [
      t("stock.specGpu", { gpu: gpuTitle(spec), size: gib(spec.video_memory_mib) }),
      t("stock.specCpu", { count: spec.cpu_millis / 1000 }),
      t("stock.specMemory", { size: gib(spec.memory_mib) }),
      t("stock.specDisk", { size: spec.disk_gib }),
    ].join(" · ");
}
