import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { stock } from "@/api/catalogue";
import type { StockUnit } from "@/api/generated/types";
import { useLoaded, useLoadedPages } from "@/api/query";
import { stockUnits } from "@/api/stock";
import { totalsOf } from "@/domain/catalogue/stock";
import { useText } from "@/i18n";
import { Empty, PageHead } from "@/ui/page";
import { UnitFilter } from "./filter";
import { RemovalDialog } from "./removal";
import { UnitTable } from "./unit-table";

const route = getRouteApi("/_app/admin/units/");

export function UnitsPage() {
  const { t } = useText();
  const filter = route.useSearch();
  const [removed, setRemoved] = useState<StockUnit>();
  const list = useLoadedPages(stockUnits(filter));
  const total = totalsOf(useLoaded(stock));
  const items = list.data.pages.flatMap((page) => page.items);
  const isFiltered = Object.values(filter).some(Boolean);
  return (
    <>
      <PageHead title={t("stock.unitsTitle")}>
        {total.total > 0 &&
          t("stock.unitsSentence", {
            total: total.total,
            used: total.used,
            available: total.available,
            inactive: total.inactive,
          })}
      </PageHead>
      <UnitFilter />
      <UnitTable
        items={items}
        onRemove={setRemoved}
        onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
        empty={
          isFiltered ? (
            <Empty title={t("stock.noUnitsFound")}>{t("stock.noUnitsFoundHint")}</Empty>
          ) : (
            <Empty title={t("stock.emptyTitle")}>{t("stock.emptyHint")}</Empty>
          )
        }
      />
      {removed && <RemovalDialog unit={removed} onClose={() => setRemoved(undefined)} />}
    </>
  );
}
