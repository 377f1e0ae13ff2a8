import type { ReactNode } from "react";

export interface MenuEntry {
  key: string;
  label: string;
  /** A second line: the reason when it cannot be chosen. */
  disabled?: string | false | undefined;
  /** A quiet word under the label. */
  note?: string;
  /** The menu stays open: it turns through settings. */
  stays?: boolean;
  danger?: boolean;
  icon?: ReactNode;
  onSelect: () => void;
}

/** What has the focus when the menu has opened: the menu, for a pointer, or one of its entries. */
export type FirstFocus = "menu" | "first" | "last";
