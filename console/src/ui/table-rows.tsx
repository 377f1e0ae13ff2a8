import { clsx } from "clsx";
import { ArrowDown, ArrowUp } from "lucide-react";
import type { ReactNode } from "react";
import { useNarrow } from "@/lib/narrow";
import type { TableProps } from "./table-props";

type Rows<Item> = TableProps<Item> & {
  /** The tracks of the grid, which all rows have. */
  template: string;
};

/** Columns of compact rows stand closer. */
const sides = (rowHeight: TableProps<never>["rowHeight"]) =>
  rowHeight === 36 ? "gap-x-3 px-4" : "gap-x-4 px-4";

function Cell({ end, children }: { end: boolean | undefined; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: see Table
    <div role="cell" className={clsx("min-w-0", end && "justify-self-end text-right")}>
      {children}
    </div>
  );
}

/** Sums, below the rows. */
export function Totals<Item>({
  columns,
  totals,
  template,
  rowHeight,
}: Rows<Item> & { totals: Record<string, ReactNode> }) {
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
          <Cell key={column.key} end={column.end}>
            {totals[column.key]}
          </Cell>
        ))}
      </div>
    </div>
  );
}

/** Labels of the columns, and by which of them the rows are sorted. */
export function Head<Item>({ columns, template, rowHeight, sort, onSort }: Rows<Item>) {
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

/** Rows that are all in the page. */
export function Few<Item>(props: Rows<Item>) {
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

export function OneRow<Item>({
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
            <Cell key={column.key} end={column.end}>
              {column.cell(item)}
            </Cell>
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
