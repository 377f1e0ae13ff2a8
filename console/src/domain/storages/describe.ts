import type { Storage } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { monthlyOf } from "@/lib/money";

/** What of a storage is written in many places. */
export function useStorageText() {
  const { t } = useText();
  const { total } = useFormat();
  return {
    /** "Volume, ssd". */
    kind: (it: Pick<Storage, "kind" | "storage_spec">) =>
      t("storages.kindSpec", { kind: t(`storages.${it.kind}`), spec: it.storage_spec.name }),
    /** "40 GiB", or "40 of 60 GiB" until it has grown. */
    size: ({ capacity_gib, size_gib }: Pick<Storage, "capacity_gib" | "size_gib">) =>
      capacity_gib !== null && capacity_gib < size_gib
        ? t("storages.gibOf", { ready: capacity_gib, size: size_gib })
        : t("storages.gib", { size: size_gib }),
    /** What it costs in a month. */
    price: (it: Pick<Storage, "price_per_gib_month" | "size_gib" | "currency">) => total(monthlyOf([it])),
  };
}
