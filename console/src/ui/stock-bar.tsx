import { clsx } from "clsx";

export interface StockCounts {
  available: number;
  inactive: number;
  used: number;
}

/** Used, available and inactive units as one ruled bar; those that come are outlined. */
export function StockBar({
  counts: { available, inactive, used },
  added = 0,
  label,
}: {
  counts: StockCounts;
  /** Units that an open change adds. */
  added?: number;
  label: string;
}) {
  const parts = [
    { count: used, look: "bg-ink-3" },
    { count: available, look: "bg-viridian" },
    { count: added, look: "border border-viridian bg-viridian-wash" },
    { count: inactive, look: "border border-ochre" },
  ].filter(({ count }) => count > 0);
  return (
    <span role="img" aria-label={label} className="flex h-2 w-full gap-px rounded-[1px] bg-transparent">
      {parts.length === 0 && <span className="flex-1 rounded-[1px] bg-wash" />}
      {parts.map(({ count, look }) => (
        // one unit of many is still seen
        <span
          key={look}
          className={clsx("min-w-1 basis-0 rounded-[1px]", look)}
          style={{ flexGrow: count }}
        />
      ))}
    </span>
  );
}

/** What its colours mean. */
export function StockLegend({ words }: { words: { used: string; available: string; inactive: string } }) {
  const items = [
    { word: words.used, look: "bg-ink-3" },
    { word: words.available, look: "bg-viridian" },
    { word: words.inactive, look: "border border-ochre" },
  ];
  return (
    <ul className="flex gap-3.5 text-ink-2 text-xs">
      {items.map(({ word, look }) => (
        <li key={word} className="flex items-center gap-1.5">
          <span className={clsx("h-2 w-3.5 rounded-[1px]", look)} aria-hidden="true" />
          {word}
        </li>
      ))}
    </ul>
  );
}
