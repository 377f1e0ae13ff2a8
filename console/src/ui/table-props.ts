import type { ReactNode } from "react";

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
