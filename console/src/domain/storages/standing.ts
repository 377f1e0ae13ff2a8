import type { Storage, StorageReason } from "@/api/generated/types";
import type { Language, PlainKey, Text } from "@/i18n";
import type { Mark } from "@/ui/state";
import { waitsForUse } from "./mountable";

type Standing = Pick<Storage, "state" | "reason">;

/** Whether it changes by itself soon. */
export const isMoving = (it: Standing) =>
  it.state === "resizing" || it.state === "deleting" || (it.state === "pending" && !waitsForUse(it));

/** How it stands, as a mark and a word. */
export function standingOf(it: Standing): { mark: Mark; word: PlainKey } {
  switch (it.state) {
    case "pending":
      return waitsForUse(it)
        ? { mark: "rests", word: "storages.readyOnUse" }
        : { mark: "moves", word: "storages.creating" };
    case "available":
      return { mark: "runs", word: "storages.ready" };
    case "resizing":
      return { mark: "moves", word: "storages.growing" };
    case "failed":
      return { mark: "failed", word: "storages.failed" };
    case "deleting":
      return { mark: "moves", word: "storages.deleting" };
  }
}

const reasons: Record<StorageReason, PlainKey> = {
  volume_requested: "storages.volumeRequested",
  volume_accepted: "storages.volumeAccepted",
  volume_pending: "storages.volumePending",
  volume_growing: "storages.volumeGrowing",
  volume_failed: "storages.volumeFailed",
  volume_lost: "storages.volumeLost",
  volume_deleting: "storages.volumeDeleting",
  cluster_unavailable: "storages.clusterUnavailable",
  cluster_refused: "storages.clusterRefused",
  bucket_emptying: "storages.bucketEmptying",
  bucket_lost: "storages.bucketLost",
  bucket_name_taken: "storages.bucketNameTaken",
  object_store_unavailable: "storages.objectStoreUnavailable",
  object_store_refused: "storages.objectStoreRefused",
};

const isKnown = (reason: string): reason is StorageReason => reason in reasons;

/** Why, as a sentence. The API's own is English and says more; a code that is new has only that. */
export function reasonOf(
  it: { reason: string | null; message: string | null },
  t: Text,
  language: Language,
): string | null {
  const word = it.reason !== null && isKnown(it.reason) ? reasons[it.reason] : undefined;
  const ours = word ? t(word) : null;
  return language === "en" ? (it.message ?? ours) : (ours ?? it.message);
}
