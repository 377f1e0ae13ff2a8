import { clsx } from "clsx";
import { useState } from "react";
import type { StockRow } from "@/api/generated/types";
import { rowKey, type StockOperation } from "@/domain/catalogue/stock";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { NumberField } from "@/ui/number-field";
import { BulkProgress } from "./bulk-progress";
import { isCount, MOST } from "./change";
import { useBulk } from "./use-bulk";

export type BulkKind = "add" | "remove";

/** How many units for each chosen row; then how far each of them is. */
export function BulkDialog({
  kind,
  rows,
  operations,
  onClose,
}: {
  kind: BulkKind;
  rows: readonly StockRow[];
  operations: readonly StockOperation[];
  onClose: () => void;
}) {
  const { t } = useText();
  // as they were when they were chosen: the numbers of the rows move while it runs
  const [chosen] = useState(rows);
  const [counts, setCounts] = useState<Record<string, string>>({});
  const [asked, setAsked] = useState(false);
  const bulk = useBulk(kind);
  const whyNot = (row: StockRow) =>
    kind === "add"
      ? row.gpu_spec.state === "retired"
        ? t("stock.retiredTakesNone")
        : row.datacenter_state === "draining" && t("stock.drainingTakesNone")
      : row.available + row.inactive === 0 && t("stock.noneFree");
  const possible = chosen.filter((row) => !whyNot(row));
  const countOf = (row: StockRow) => counts[rowKey(row)] ?? "1";
  const errorOf = (row: StockRow) => {
    const count = countOf(row);
    if (!isCount(count) || Number(count) > MOST) return t("stock.countRange0", { most: MOST });
    const free = row.available + row.inactive;
    return kind === "remove" && Number(count) > free ? t("stock.onlyFree", { free }) : undefined;
  };
  const orders = possible
    .map((row) => ({ row, count: isCount(countOf(row)) ? Number(countOf(row)) : 0 }))
    .filter(({ count }) => count > 0);
  const total = orders.reduce((sum, it) => sum + it.count, 0);
  const submit = () => {
    setAsked(true);
    if (total > 0 && !possible.some(errorOf)) void bulk.run(orders);
  };
  const title = t(kind === "add" ? "stock.bulkAddTitle" : "stock.bulkRemoveTitle", { count: chosen.length });
  if (bulk.results)
    return (
      <BulkProgress
        title={title}
        results={bulk.results}
        operations={operations}
        onAgain={(result) => void bulk.run([result])}
        onClose={onClose}
      />
    );
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      onSubmit={submit}
      title={title}
      description={t(kind === "add" ? "stock.bulkAddHint" : "stock.bulkRemoveHint")}
      footer={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" disabled={total === 0 && t("stock.nothingYet")}>
            {t(kind === "add" ? "stock.bulkAddVerb" : "stock.bulkRemoveVerb", { count: total })}
          </Button>
        </>
      }
    >
      <ul className="-my-1 divide-y divide-line">
        {chosen.map((row) => {
          const key = rowKey(row);
          const reason = whyNot(row);
          const count = isCount(countOf(row)) ? Number(countOf(row)) : 0;
          return (
            <li
              key={key}
              className={clsx(
                "num grid items-center gap-x-4 py-2.5",
                !reason && "grid-cols-[minmax(0,1fr)_8rem]",
              )}
            >
              <span className="min-w-0">
                <span className="block truncate font-medium font-mono text-xs">{row.gpu_spec.name}</span>
                <span className="block text-ink-3 text-xs">
                  {row.datacenter.name} ·{" "}
                  {reason || (
                    <span className="text-ink-2">
                      {kind === "add"
                        ? t("stock.willAdd", { from: row.available, to: row.available + count })
                        : t("stock.willRemove", {
                            free: row.available + row.inactive,
                            inactive: Math.min(row.inactive, count),
                            available: Math.max(0, count - row.inactive),
                          })}
                    </span>
                  )}
                </span>
              </span>
              {!reason && (
                <div className="[&_label]:sr-only">
                  <NumberField
                    small
                    name={key}
                    label={t("stock.unitsOf", { spec: row.gpu_spec.name, datacenter: row.datacenter.name })}
                    value={countOf(row)}
                    error={asked ? errorOf(row) : undefined}
                    onChange={(value) => setCounts({ ...counts, [key]: value })}
                  />
                </div>
              )}
            </li>
          );
        })}
      </ul>
    </Dialog>
  );
}
