import { getRouteApi, Link } from "@tanstack/react-router";
import { clsx } from "clsx";
import { Pencil } from "lucide-react";
import type { ReactNode } from "react";
import type { StockRow } from "@/api/generated/types";
import { useSpecText } from "@/domain/catalogue/spec-text";
import { doneOf, isOpen, rowKey, type StockOperation, totalsOf } from "@/domain/catalogue/stock";
import { useText } from "@/i18n";
import { PriceTag } from "@/ui/money";
import { Ring } from "@/ui/state";
import { StockBar, type StockCounts } from "@/ui/stock-bar";
import { type Column, Table } from "@/ui/table";

const route = getRouteApi("/_app/admin/stock");

/** At most so many available units are few. */
const FEW = 2;

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
      className="block size-4 accent-ultra max-md:size-5"
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
          className="block size-4 accent-ultra"
        />
      ),
      cell: box,
    },
    {
      key: "spec",
      label: t("stock.spec"),
      width: "minmax(12rem, 1fr)",
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
      width: "minmax(5rem, 8rem)",
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
    { key: "used", label: t("stock.used"), width: "2.75rem", end: true, cell: (row) => <N>{row.used}</N> },
    { key: "total", label: t("stock.total"), width: "2.75rem", end: true, cell: (row) => <N>{row.total}</N> },
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
        available: <N>{total.available}</N>,
        inactive: <N>{total.inactive}</N>,
        used: <N>{total.used}</N>,
        total: <N>{total.total}</N>,
      }}
      narrow={(row) => (
        <Narrow row={row} operations={operations} text={specText(row.gpu_spec)} box={box(row)} />
      )}
    />
  );
}

function N({ children }: { children: number }) {
  return <span className={clsx("num text-sm", children === 0 && "text-ink-3")}>{children}</span>;
}

function SpecName({ row: { gpu_spec }, text }: { row: StockRow; text: string }) {
  const { t } = useText();
  return (
    <span className="block min-w-0">
      <span className="flex min-w-0 items-baseline gap-2">
        <Link
          to="/admin/gpu-specs/$id"
          params={{ id: gpu_spec.id }}
          className="truncate font-medium font-mono text-xs hover:underline"
        >
          {gpu_spec.name}
        </Link>
        {gpu_spec.state === "retired" && (
          <span className="text-2xs text-ink-3 leading-4">{t("stock.retired")}</span>
        )}
      </span>
      <span className="num block truncate text-2xs text-ink-3 leading-3.5">{text}</span>
    </span>
  );
}

function Place({ row }: { row: StockRow }) {
  const { t } = useText();
  return (
    <span className="block min-w-0 text-ink-2 text-xs">
      <Link
        to="/admin/datacenters/$id"
        params={{ id: row.datacenter.id }}
        className="block truncate hover:underline"
      >
        {row.datacenter.name}
      </Link>
      {row.datacenter_state === "draining" && (
        <span className="block truncate text-2xs text-ochre leading-3.5">{t("stock.draining")}</span>
      )}
    </span>
  );
}

function Available({ count }: { count: number }) {
  const { t } = useText();
  return (
    <span
      className={clsx(
        "num text-sm",
        count === 0 ? "font-medium text-vermilion" : count <= FEW && "font-medium text-ochre",
      )}
    >
      {count === 0 ? t("stock.none") : count}
    </span>
  );
}

/** Those that are inactive have a reason: their units say it. */
function Inactive({ row }: { row: StockRow }) {
  const { t } = useText();
  if (row.inactive === 0) return <N>{0}</N>;
  return (
    <Link
      to="/admin/units"
      search={{ gpu_spec: row.gpu_spec.name, datacenter: row.datacenter.name, state: "inactive" }}
      aria-label={t("stock.inactiveUnits", {
        count: row.inactive,
        spec: row.gpu_spec.name,
        datacenter: row.datacenter.name,
      })}
      className="num text-sm text-ultra hover:underline max-md:inline-block max-md:min-h-6"
    >
      {row.inactive}
    </Link>
  );
}

function Bar({ counts }: { counts: StockCounts & { total: number } }) {
  const { t } = useText();
  return <StockBar counts={counts} label={t("stock.bar", { ...counts })} />;
}

function BarCell({ row, operations }: { row: StockRow; operations: readonly StockOperation[] }) {
  const { t } = useText();
  const open = operations.find(
    (it) =>
      isOpen(it) &&
      it.progress.gpu_spec.id === row.gpu_spec.id &&
      it.progress.datacenter.id === row.datacenter.id,
  );
  const { available, inactive, used, total } = row;
  return (
    <span className="block">
      <Bar counts={{ available, inactive, used, total }} />
      {open && (
        <span className="num mt-0.5 flex items-center gap-1.5 whitespace-nowrap font-medium text-2xs text-ochre leading-3.5">
          <Ring mark="moves" className="size-2!" />
          {t(open.kind === "add_stock" ? "stock.addingNow" : "stock.removingNow", {
            done: doneOf(open),
            count: open.progress.requested,
          })}
        </span>
      )}
    </span>
  );
}

function EditLink({ row }: { row: StockRow }) {
  const { t } = useText();
  const label = t("stock.updateOf", { spec: row.gpu_spec.name, datacenter: row.datacenter.name });
  const navigate = route.useNavigate();
  return (
    <button
      type="button"
      aria-label={label}
      onClick={() => void navigate({ search: (old) => ({ ...old, edit: rowKey(row) }), replace: true })}
      className="grid size-7 cursor-pointer place-items-center rounded-md text-ink-2 hover:bg-wash hover:text-ink max-md:size-10"
    >
      <Pencil className="size-3.5" aria-hidden="true" />
    </button>
  );
}

function Narrow({
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
    [t("stock.used"), <N key="u">{row.used}</N>],
    [t("stock.total"), <N key="t">{row.total}</N>],
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
      <dl className="grid grid-cols-[repeat(4,minmax(0,1fr))_4.5rem] gap-x-2 last:[&>div]:text-right">
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
