import { clsx } from "clsx";
import { ArrowDown, ArrowUp } from "lucide-react";
import { type ReactNode, useEffect } from "react";
import { later } from "@/lib/later";
import { useNarrow } from "@/lib/narrow";

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

/** Compact rows are narrower too. */
const sides = (rowHeight: TableProps<never>["rowHeight"]) =>
  rowHeight === 36 ? "gap-x-3 px-4" : "gap-x-4 px-4";

function Totals<Item>({
  columns,
  totals,
  template,
  rowHeight,
}: TableProps<Item> & { totals: Record<string, ReactNode>; template: string }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: see Table
    <div role="rowgroup" className="border-line border-t max-md:hidden">
      {/* biome-ignore lint/a11y/useSemanticElements: see Table */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: there is nothing to press in it */}
      <div
        role="row"
        className={clsx("grid min-h-9 items-center font-medium text-sm", sides(rowHeight))}
        style={{ gridTemplateColumns: template }}
      >
        {columns.map((column) => (
          // biome-ignore lint/a11y/useSemanticElements: see Table
          <div
            role="cell"
            key={column.key}
            className={clsx("min-w-0", column.end && "justify-self-end text-right")}
          >
            {totals[column.key]}
          </div>
        ))}
      </div>
    </div>
  );
}

function Head<Item>({ columns, template, rowHeight, sort, onSort }: TableProps<Item> & { template: string }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: see Table
    <div role="rowgroup" className="max-md:sr-only">
      {/* biome-ignore lint/a11y/useSemanticElements: see Table */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: its buttons are */}
      <div
        role="row"
        className={clsx("grid h-9 items-center border-line border-b text-ink-3 text-xs", sides(rowHeight))}
        style={{ gridTemplateColumns: template }}
      >
        {columns.map((column) => {
          const isSorted = sort?.key === column.key;
          const Arrow = sort?.descending ? ArrowDown : ArrowUp;
          return (
            // biome-ignore lint/a11y/useSemanticElements: see Table
            // biome-ignore lint/a11y/useFocusableInteractive: its button is
            <div
              role="columnheader"
              key={column.key}
              className={clsx("truncate", column.end && "text-right")}
              aria-sort={isSorted ? (sort.descending ? "descending" : "ascending") : undefined}
            >
              {column.head}
              {column.head ? null : column.sortable && onSort ? (
                <button
                  type="button"
                  className="inline-flex cursor-pointer items-center gap-1 hover:text-ink"
                  onClick={() => onSort({ key: column.key, descending: isSorted && !sort.descending })}
                >
                  {column.label}
                  {isSorted && <Arrow className="size-3" aria-hidden="true" />}
                </button>
              ) : (
                <span className={column.hiddenLabel ? "sr-only" : undefined}>{column.label}</span>
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

type Rows<Item> = TableProps<Item> & { template: string };

function Few<Item>(props: Rows<Item>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: see Table
    <div role="rowgroup" className="[&>:last-child]:border-b-0">
      {props.items.map((item, index) => (
        <OneRow key={props.rowKey(item)} {...props} item={item} index={index} />
      ))}
    </div>
  );
}

const heights = { 36: "min-h-9 py-0.5", 44: "min-h-11 py-1.5", 56: "min-h-14 py-1.5" };

function OneRow<Item>({
  item,
  index,
  columns,
  template,
  narrow,
  rowHeight = 56,
  isChosen,
  unfolded,
}: Rows<Item> & { item: Item; index: number }) {
  const isNarrow = useNarrow();
  const more = unfolded?.(item);
  return (
    // biome-ignore lint/a11y/useSemanticElements: see Table
    // biome-ignore lint/a11y/useFocusableInteractive: its links and buttons are
    <div
      role="row"
      aria-rowindex={index + 2}
      className={clsx(
        "border-line border-b hover:bg-paper",
        isChosen?.(item) && "bg-ultra-wash hover:bg-ultra-wash",
      )}
    >
      {isNarrow ? (
        // biome-ignore lint/a11y/useSemanticElements: see Table
        <div role="cell" className="px-4 py-3">
          {narrow(item)}
        </div>
      ) : (
        <div
          role="presentation"
          className={clsx("grid items-center", sides(rowHeight), heights[rowHeight])}
          style={{ gridTemplateColumns: template }}
        >
          {columns.map((column) => (
            // biome-ignore lint/a11y/useSemanticElements: see Table
            <div
              role="cell"
              key={column.key}
              className={clsx("min-w-0", column.end && "justify-self-end text-right")}
            >
              {column.cell(item)}
            </div>
          ))}
        </div>
      )}
      {more && (
        // biome-ignore lint/a11y/useSemanticElements: see Table
        <div role="cell" className="px-4 pb-3">
          {more}
        </div>
      )}
    </div>
  );
}
