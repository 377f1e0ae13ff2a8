import type { ReactNode } from "react";
import type { StockRow } from "@/api/generated/types";
import type { StockOperation } from "@/domain/catalogue/stock";
import { useText } from "@/i18n";
import { PriceTag } from "@/ui/money";
import { Available, BarCell, Count, EditLink, Inactive, Place, SpecName } from "./cells";

export function NarrowRow({
  row,
  operations,
  text,
  box,
}: {
  row: StockRow;
  operations: readonly StockOperation[];
  text: string;
  box: ReactNode;
}) {
  const { t } = useText();
  const facts: [string, ReactNode][] = [
    [t("stock.available"), <Available key="a" count={row.available} />],
    [t("stock.inactive"), <Inactive key="i" row={row} />],
    [t("stock.used"), <Count key="u">{row.used}</Count>],
    [t("stock.total"), <Count key="t">{row.total}</Count>],
    [
      t("stock.price"),
      <span key="p" className="text-sm">
        <PriceTag perHour={row.price_per_hour} currency={row.currency} />
      </span>,
    ],
  ];
  return (
    <div className="space-y-2">
      <div className="flex items-start gap-3">
        <span className="pt-1">{box}</span>
        <span className="min-w-0 flex-1">
          <SpecName row={row} text={text} />
        </span>
        <span className="-my-2 -mr-2.5">
          <EditLink row={row} />
        </span>
      </div>
      <div className="grid grid-cols-[minmax(0,1fr)_4.5rem] items-center gap-3">
        <BarCell row={row} operations={operations} />
        <span className="text-right">
          <Place row={row} />
        </span>
      </div>
      <dl className="grid grid-cols-[repeat(4,minmax(0,1fr))_4.5rem] gap-x-2 [&>div:last-child]:text-right">
        {facts.map(([label, value]) => (
          <div key={label} className="min-w-0">
            <dt className="truncate text-2xs text-ink-3">{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
