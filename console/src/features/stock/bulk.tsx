import { useState } from "react";
import type { StockRow } from "@/api/generated/types";
import type { StockOperation } from "@/domain/catalogue/stock";
import { totalsOf } from "@/domain/catalogue/stock";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { BulkDialog, type BulkKind } from "./bulk-dialog";

/** In place of the filter while rows are chosen. */
export default function Bulk({
  rows,
  operations,
  onEnd,
}: {
  rows: readonly StockRow[];
  operations: readonly StockOperation[];
  onEnd: () => void;
}) {
  const { t } = useText();
  const [kind, setKind] = useState<BulkKind | null>(null);
  const total = totalsOf(rows);
  return (
    <>
      <fieldset className="sticky top-0 z-5 mb-3 flex min-h-11 flex-wrap items-center gap-2 rounded-lg border border-ultra bg-ultra-wash px-4 py-1.5 max-md:top-13">
        <legend className="sr-only">{t("stock.chosen", { count: rows.length })}</legend>
        <span className="num mr-2 text-sm">
          <span className="font-medium">{t("stock.chosen", { count: rows.length })}</span>{" "}
          <span className="text-ink-2">
            {t("stock.chosenUnits", { available: total.available, inactive: total.inactive })}
          </span>
        </span>
        <Button small onClick={() => setKind("add")}>
          {t("stock.bulkAdd")}
        </Button>
        <Button
          small
          disabled={total.available + total.inactive === 0 && t("stock.bulkNoneFree")}
          onClick={() => setKind("remove")}
        >
          {t("stock.bulkRemove")}
        </Button>
        <Button small kind="quiet" className="ml-auto" onClick={onEnd}>
          {t("stock.unchoose")}
        </Button>
      </fieldset>
      {kind && <BulkDialog kind={kind} rows={rows} operations={operations} onClose={() => setKind(null)} />}
    </>
  );
}
