import type { ListTotal } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "./format";

/** "1,234", "more than 10,000"; null if it is not known, or all of them are shown. */
export function useListTotal() {
  const { t } = useText();
  const { number } = useFormat();
  return (total: ListTotal | null | undefined, shown: number): string | null => {
    if (!total || total.count <= shown) return null;
    return total.is_exact ? number(total.count) : t("ui.moreThan", { count: total.count });
  };
}
