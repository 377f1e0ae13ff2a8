import type { GpuSpec } from "@/api/generated/types";

/** "RTX 4090" of `NVIDIA-GeForce-RTX-4090`. */
export function gpuTitle({ gpu_model, gpu_count }: Pick<GpuSpec, "gpu_model" | "gpu_count">): string {
  const name = gpu_model
    .replace(/^NVIDIA[- ]/i, "")
    .replace(/^GeForce[- ]/i, "")
    .replace(/-\d+GB$/i, "")
    .replaceAll("-", " ");
  return gpu_count > 1 ? `${gpu_count} × ${name}` : name;
}
