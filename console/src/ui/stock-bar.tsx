import { clsx } from "clsx";

export interface StockCounts {
  available: number;
  inactive: number;
  used: number;
}

/** Wide enough that one unit of many is seen. */
const LEAST = 2.5;
const GAP = 1;
const WIDTH = 112;

const kinds = [
  { className: "fill-ink-3", isOutlined: false },
  { className: "fill-viridian", isOutlined: false },
  { className: "fill-viridian-wash stroke-viridian", isOutlined: true },
  { className: "fill-none stroke-ochre", isOutlined: true },
];

/** Used, available, added and inactive units, side by side. */
function partsOf(counts: readonly number[]) {
  const widths = widthsOf(counts);
  return kinds.flatMap((kind, i) => {
    const width = widths[i] ?? 0;
    const before = widths.slice(0, i).filter((it) => it > 0);
    const from = before.reduce((sum, it) => sum + it + GAP, 0);
    return width > 0 ? [{ ...kind, from, width }] : [];
  });
}

function widthsOf(counts: readonly number[]): number[] {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const parts = counts.filter((count) => count > 0).length;
  const room = WIDTH - GAP * Math.max(0, parts - 1);
  const least = counts.map((count) => (count > 0 ? Math.max(LEAST, (room * count) / total) : 0));
  const over = least.reduce((sum, width) => sum + width, 0) - room;
  const widest = Math.max(...least);
  // what the small ones got more is taken from the largest
  return least.map((width) => (width === widest ? width - over : width));
}

/** Used, available and inactive units as one ruled bar; those that come or go are outlined. */
export function StockBar({
  counts: { available, inactive, used },
  added = 0,
  label,
  className,
}: {
  counts: StockCounts;
  /** Units that an open change adds. */
  added?: number;
  label: string;
  className?: string;
}) {
  const total = used + available + inactive + added;
  const parts = total === 0 ? [] : partsOf([used, available, added, inactive]);
  return (
    <svg
      viewBox={`0 0 ${WIDTH} 8`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
      className={clsx("block h-2 w-full", className)}
    >
      {total === 0 && <rect width={WIDTH} height="8" rx="1" className="fill-wash" />}
      {parts.map(({ className: look, isOutlined, from, width }) => (
        <rect
          key={look}
          x={isOutlined ? from + 0.5 : from}
          y={isOutlined ? 0.5 : 0}
          width={Math.max(0.5, isOutlined ? width - 1 : width)}
          height={isOutlined ? 7 : 8}
          rx="1"
          vectorEffect="non-scaling-stroke"
          className={look}
        />
      ))}
    </svg>
  );
}

/** What its colours mean. */
export function StockLegend({ words }: { words: { used: string; available: string; inactive: string } }) {
  const items = [
    { word: words.used, className: "bg-ink-3" },
    { word: words.available, className: "bg-viridian" },
    { word: words.inactive, className: "border border-ochre" },
  ];
  return (
    <ul className="flex gap-3.5 text-ink-2 text-xs">
      {items.map(({ word, className }) => (
        <li key={word} className="flex items-center gap-1.5">
          <span className={clsx("h-2 w-3.5 rounded-[1px]", className)} aria-hidden="true" />
          {word}
        </li>
      ))}
    </ul>
  );
}
