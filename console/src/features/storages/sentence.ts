import { useQuery, useSuspenseInfiniteQuery } from "@tanstack/react-query";
import { storagePages, storageQuota } from "@/api/storages/queries";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { summaryOf } from "./summary";

/** "6 storages, 1,020 GiB, $20.60 a month." and what needs a look, over all storages and not only those shown. */
export function useSentence(): string | null {
  const { t } = useText();
  const { total, sentences } = useFormat();
  const { data } = useSuspenseInfiniteQuery(storagePages());
  const isWhole = data.pages.at(-1)?.next_cursor === null;
  // of a long list, the quota knows the sums without prices
  const { data: quota } = useQuery({ ...storageQuota, enabled: !isWhole });
  if (!isWhole)
    return quota ? t("storages.sentenceLong", { count: quota.used.storages, size: quota.used.gib }) : null;
  const all = data.pages.flatMap((page) => page.items);
  const { count, size, price, unused, unusedPrice, failed } = summaryOf(all);
  if (count === 0) return null;
  return sentences([
    t("storages.sentence", { count, size, price: total(price) }),
    unused > 0 && t("storages.unused", { count: unused, price: total(unusedPrice) }),
    failed > 0 && t("storages.needLook", { count: failed }),
  ]);
}
