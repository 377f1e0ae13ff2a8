import type { GpuSpec, PlatformInstance, PlatformStorage } from "@/api/generated/types";
import { ratesOf, type Totals } from "@/lib/money";

export interface InUse {
  instances: number;
  /** Null if one of the specifications is not known. */
  gpus: number | null;
  byModel: ReadonlyMap<string, number>;
  rate: Totals;
  /** False if there are more instances than were read: the numbers are the least. */
  isWhole: boolean;
}

/** What counts toward the limits: those that are not stopped, or hold their unit. */
export function inUseOf(
  { items, next_cursor }: { items: readonly PlatformInstance[]; next_cursor: string | null },
  specs: readonly Pick<GpuSpec, "id" | "gpu_model" | "gpu_count">[],
): InUse {
  const counting = items.filter((it) => it.state !== "stopped" || it.hold !== null);
  const byModel = new Map<string, number>();
  let gpus: number | null = 0;
  for (const it of counting) {
    const spec = specs.find((one) => one.id === it.gpu_spec.id);
    if (!spec) gpus = null;
    else {
      byModel.set(spec.gpu_model, (byModel.get(spec.gpu_model) ?? 0) + spec.gpu_count);
      if (gpus !== null) gpus += spec.gpu_count;
    }
  }
  return { instances: items.length, gpus, byModel, rate: ratesOf(counting), isWhole: next_cursor === null };
}

export interface StorageInUse {
  storages: number;
  gib: number;
  isWhole: boolean;
}

export const storageInUseOf = ({
  items,
  next_cursor,
}: {
  items: readonly PlatformStorage[];
  next_cursor: string | null;
}): StorageInUse => ({
  storages: items.length,
  gib: items.reduce((sum, it) => sum + it.size_gib, 0),
  isWhole: next_cursor === null,
});

/** A whole number, null for an empty field, undefined for anything else. */
export function numberOf(text: string): number | null | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  return /^\d{1,9}$/.test(trimmed) ? Number(trimmed) : undefined;
}

/** Whether a limit is below what is used now. */
export const isBelow = (text: string, used: number | null): boolean => {
  const limit = numberOf(text);
  return typeof limit === "number" && used !== null && limit < used;
};
