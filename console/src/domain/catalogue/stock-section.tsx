import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { StockRow } from "@/api/generated/types";
import { useText } from "@/i18n";
import { Panel, Section } from "@/ui/page";
import { StockBar } from "@/ui/stock-bar";
import { rowKey } from "./stock";
import { StockLegend } from "./stock-legend";

/** The rows of one datacenter by their specification, or those of one specification by their datacenter. */
export function StockSection({
  rows,
  name,
  datacenter,
  none,
}: {
  rows: readonly StockRow[];
  name: (row: StockRow) => ReactNode;
  /** A name leads to its row on the page of stock: to those of this datacenter only. */
  datacenter?: string;
  none: ReactNode;
}) {
  const { t } = useText();
  return (
    <Section title={t("stock.title")} actions={rows.length > 0 && <StockLegend />}>
      <Panel>
        {rows.length === 0 && <p className="px-4 py-3 text-ink-2 text-sm">{none}</p>}
        <ul className="divide-y divide-line">
          {rows.map((row) => (
            <li
              key={rowKey(row)}
              className="num grid min-h-9 items-center gap-x-4 px-4 py-1 text-sm max-md:grid-cols-[minmax(0,1fr)_auto] md:grid-cols-[10rem_minmax(0,1fr)_8rem]"
            >
              <Link
                to="/admin/stock"
                search={{ ...(datacenter && { datacenter }), edit: rowKey(row) }}
                className="truncate text-ultra hover:underline"
              >
                {name(row)}
              </Link>
              <span className="max-md:order-last max-md:col-span-2 max-md:pb-1.5">
                <StockBar counts={row} label={t("stock.bar", { ...row })} />
              </span>
              <span className="text-right text-ink-2 text-xs">
                {t("catalogue.areAvailable", { available: row.available, total: row.total })}
              </span>
            </li>
          ))}
        </ul>
      </Panel>
    </Section>
  );
}
