import { type ReactNode, useEffect } from "react";
import { later } from "@/lib/later";
import { Few, Head, OneRow, Totals } from "./table-rows";

export interface Column<Item> {
  key: string;
  label: string;
  /** A track of the grid: `minmax(9rem, 1.3fr)`, `5rem`. */
  width: string;
  cell: (item: Item) => ReactNode;
  end?: boolean;
  /** In place of the label: a box that chooses all, or the label above where its numbers stand. */
  head?: ReactNode;
  /** The label is for screen readers only: a column of buttons. */
  hiddenLabel?: boolean;
  sortable?: boolean;
}

export interface Sort {
  key: string;
  descending: boolean;
}

export interface TableProps<Item> {
  label: string;
  items: readonly Item[];
  columns: readonly Column<Item>[];
  rowKey: (item: Item) => string;
  /** The same row on a narrow screen, in its own layout. */
  narrow: (item: Item) => ReactNode;
  /** 56 with two lines, 44 with one, 36 compact. */
  rowHeight?: 36 | 44 | 56;
  sort?: Sort;
  onSort?: (sort: Sort) => void;
  empty: ReactNode;
  footer?: ReactNode;
  /** A last row with sums, by the keys of the columns. */
  totals?: Record<string, ReactNode>;
  isChosen?: (item: Item) => boolean;
  /** What is unfolded under the row. */
  unfolded?: (item: Item) => ReactNode;
  /** There are more: called when the last rows come into view. */
  onEnd?: (() => void) | undefined;
}

/** Above this many rows only those in view are in the page. */
const MANY = 100;
/** So many are shown until the part for many is loaded. */
const FIRST = 12;
/** For loaders of long lists, so that it comes beside the rows. */
export const manyRows = later(() => import("./many-rows"));

export function Table<Item>(props: TableProps<Item>) {
  const { label, items, columns, empty, footer } = props;
  const template = columns.map((it) => it.width).join(" ");
  const isMany = items.length > MANY || Boolean(props.onEnd);
  const ManyRows = manyRows.usePart(isMany);
  useEffect(() => {
    if (isMany) manyRows.load();
  }, [isMany]);
  if (items.length === 0) return <div className="rounded-lg border border-line bg-sheet">{empty}</div>;
  return (
    <div className="relative overflow-x-auto rounded-lg border border-line bg-sheet">
      {/* biome-ignore lint/a11y/useSemanticElements: rows in a grid, of which only those in view exist */}
      <div role="table" aria-label={label} aria-rowcount={props.onEnd ? -1 : items.length + 1}>
        <Head {...props} columns={columns} template={template} />
        {isMany && ManyRows ? (
          <ManyRows
            count={items.length}
            rowHeight={props.rowHeight ?? 56}
            keyOf={(index) => props.rowKey(items[index] as Item)}
            onEnd={props.onEnd}
            row={(index) => (
              <OneRow {...props} template={template} item={items[index] as Item} index={index} />
            )}
          />
        ) : isMany ? (
          <div role="presentation" className="max-h-[70dvh] overflow-hidden">
            <Few {...props} items={items.slice(0, FIRST)} template={template} />
          </div>
        ) : (
          <Few {...props} template={template} />
        )}
        {props.totals && <Totals {...props} totals={props.totals} template={template} />}
      </div>
      {footer && <div className="border-line border-t px-4 py-2.5 text-ink-2 text-sm">{footer}</div>}
    </div>
  );
}
