/** What was measured several times. */
export interface Figure {
  what: string;
  values: readonly number[];
  unit: "ms" | "KiB" | "";
  /** What the median must not exceed; none if it is only told. */
  limit?: number;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  if (value === undefined || !Number.isFinite(value)) throw new Error("nothing was measured");
  return value;
}

export const median = (values: readonly number[]) => quantile(values, 0.5);

const digits = (value: number) => (value < 100 ? value.toFixed(1) : value.toFixed(0));

/** One line: median, smallest, largest, and whether the limit is kept. */
export function tell({ what, values, unit, limit }: Figure) {
  const middle = median(values);
  const range = `${digits(Math.min(...values))} – ${digits(Math.max(...values))}`;
  const verdict = limit === undefined ? "" : `at most ${limit}: ${middle <= limit ? "kept" : "NOT KEPT"}`;
  console.log(
    `  ${what.padEnd(52)} ${digits(middle).padStart(7)} ${unit.padEnd(3)} ${range.padStart(15)}   ${verdict}`.trimEnd(),
  );
}
