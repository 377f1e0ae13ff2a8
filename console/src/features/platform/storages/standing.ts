import type { StorageState } from "@/api/generated/types";
import type { PlainKey } from "@/i18n";
import type { Mark } from "@/ui/state";

export const storageStanding: Record<StorageState, { mark: Mark; word: PlainKey }> = {
  available: { mark: "runs", word: "fleet.available" },
  pending: { mark: "moves", word: "fleet.pending" },
  resizing: { mark: "moves", word: "fleet.resizing" },
  failed: { mark: "failed", word: "fleet.failed" },
  deleting: { mark: "moves", word: "fleet.beingDeleted" },
};
