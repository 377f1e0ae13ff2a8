import type { ReactNode } from "react";
import type { StockRow } from "@/api/generated/types";
import { useSpecText } from "@/domain/catalogue/spec-text";
import { rowKey, type StockOperation, totalsOf } from "@/domain/catalogue/stock";
import { useText } from "@/i18n";
import { PriceTag } from "@/ui/money";
import { type Column, Table } from "@/ui/table";
import { Available, Bar, BarCell, Count, EditLink, Inactive, Place, SpecName } from "./cells";
import { NarrowRow } from "./narrow-row";

interface Props {
  rows: readonly StockRow[];
  operations: readonly StockOperation[];
  chosen: ReadonlySet<string>;
  onChoose: (keys: ReadonlySet<string>) => void;
  edited: string | undefined;
  empty: ReactNode;
}

export function StockTable({ rows, operations, chosen, onChoose, edited, empty }: Props) {
  const { t } = useText();
  const specText = useSpecText();
  const total = totalsOf(rows);
  const all = rows.length > 0 && rows.every((row) => chosen.has(rowKey(row)));
  const choose = (key: string, on: boolean) =>
    onChoose(new Set(on ? [...chosen, key] : [...chosen].filter((it) => it !== key)));
  const box = (row: StockRow) => (
    <input
      type="checkbox"
      aria-label={t("stock.choose", { spec: row.gpu_spec.name, datacenter: row.datacenter.name })}
      checked={chosen.has(rowKey(row))}
      onChange={(event) => choose(rowKey(row), event.target.checked)}
      className="size-4 max-md:size-5"
    />
  );
  const columns: Column<StockRow>[] = [
    {
      key: "box",
      label: t("stock.chooseAll"),
      width: "1rem",
      head: (
        <input
          type="checkbox"
          aria-label={t("stock.chooseAll")}
          checked={all}
          onChange={() => onChoose(new Set(all ? [] : rows.map(rowKey)))}
          className="size-4"
        />
      ),
      cell: box,
    },
    {
      key: "spec",
      label: t("stock.spec"),
      width: "minmax(9rem, 1.4fr)",
      cell: (row) => <SpecName row={row} text={specText(row.gpu_spec)} />,
    },
    {
      key: "datacenter",
      label: t("stock.datacenter"),
      width: "5rem",
      cell: (row) => <Place row={row} />,
    },
    {
      key: "stock",
      label: t("stock.stock"),
      width: "minmax(5rem, 1fr)",
      cell: (row) => <BarCell row={row} operations={operations} />,
    },
    {
      key: "available",
      label: t("stock.available"),
      width: "3.5rem",
      end: true,
      cell: (row) => <Available count={row.available} />,
    },
    {
      key: "inactive",
      label: t("stock.inactive"),
      width: "3.25rem",
      end: true,
      cell: (row) => <Inactive row={row} />,
    },
    {
      key: "used",
      label: t("stock.used"),
      width: "2.75rem",
      end: true,
      cell: (row) => <Count>{row.used}</Count>,
    },
    {
      key: "total",
      label: t("stock.total"),
      width: "2.75rem",
      end: true,
      cell: (row) => <Count>{row.total}</Count>,
    },
    {
      key: "price",
      label: t("stock.price"),
      width: "4.5rem",
      end: true,
      cell: (row) => (
        <span className="text-sm">
          <PriceTag perHour={row.price_per_hour} currency={row.currency} />
        </span>
      ),
    },
    {
      key: "edit",
      label: t("stock.update"),
      hiddenLabel: true,
      width: "1.75rem",
      end: true,
      cell: (row) => <EditLink row={row} />,
    },
  ];
  return (
    <Table
      label={t("stock.title")}
      items={rows}
      columns={columns}
      rowHeight={36}
      rowKey={rowKey}
      isChosen={(row) => chosen.has(rowKey(row)) || rowKey(row) === edited}
      empty={empty}
      totals={{
        spec: t("stock.rows", { count: rows.length }),
        stock: <Bar counts={total} />,
        available: <Count>{total.available}</Count>,
        inactive: <Count>{total.inactive}</Count>,
        used: <Count>{total.used}</Count>,
        total: <Count>{total.total}</Count>,
      }}
      narrow={(row) => (
        <NarrowRow row={row} operations={operations} text={specText(row.gpu_spec)} box={box(row)} />
      )}
    />
  );
}
