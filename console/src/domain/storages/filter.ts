import type { StorageKind, StorageState } from "@/api/generated/types";
import type { StorageFilter, StorageSort } from "@/api/storages/cache";

const all = ["pending", "available", "resizing", "failed", "deleting"] as const satisfies StorageState[];

export interface StorageSearch {
  kind?: StorageKind | undefined;
  /** Separated by commas. */
  state?: string | undefined;
  name?: string | undefined;
  sort?: StorageSort | undefined;
}

/** What the address asks for: states that do not exist are left out. */
export function storageFilter({ state, ...rest }: StorageSearch): StorageFilter {
  const asked = state?.split(",") ?? [];
  return { ...rest, states: all.filter((one) => asked.includes(one)) };
}
