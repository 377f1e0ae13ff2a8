import type { StorageSpec } from "@/api/generated/types";
import { useText } from "@/i18n";

/** "1 to 2,048 GiB", or "100 GiB" if the size is fixed. */
export function useSizeText() {
  const { t } = useText();
  return ({ min_size_gib: min, max_size_gib: max }: Pick<StorageSpec, "min_size_gib" | "max_size_gib">) =>
    min === max ? t("catalogue.gib", { size: min }) : t("catalogue.sizeRange", { min, max });
}
