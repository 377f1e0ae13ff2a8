import { useLoadedPages } from "@/api/query";
import { stockRepairs } from "@/api/stock";
import { RepairList } from "@/domain/catalogue/repair-list";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { Button } from "@/ui/button";
import { Section } from "@/ui/page";

const DAY = 86_400_000;

/** Where clusters and stock differed: said only where there was something. */
export function Repairs() {
  const { t } = useText();
  const now = useNow();
  const pages = useLoadedPages(stockRepairs);
  const items = pages.data.pages.flatMap((page) => page.items);
  if (items.length === 0) return null;
  const recent = items.filter((it) => now - Date.parse(it.at) < DAY).length;
  return (
    <Section
      title={t("stock.repairs")}
      hint={recent > 0 ? t("stock.repairsRecent", { count: recent }) : t("stock.repairsQuiet")}
    >
      <RepairList items={items} />
      {pages.hasNextPage && (
        <Button small kind="quiet" className="mt-2" onClick={() => void pages.fetchNextPage()}>
          {t("stock.olderRepairs")}
        </Button>
      )}
    </Section>
  );
}
