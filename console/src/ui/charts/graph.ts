export type Values = (number | null)[];

/** A part of the x axis of which nothing is known. */
export interface Gap {
  from: number;
  to: number;
}

export interface Line {
  label: string | null;
  /** Its unit does not tell it from the other: the label is shown. */
  named?: boolean;
  /** Single readings behind the line that matters. */
  faint?: boolean;
  values: Values;
  /** On which side its numbers stand. */
  side: "left" | "right";
  write: (value: number) => string;
}

export interface Scale {
  min: number;
  max: number;
  write: (value: number) => string;
  /** Without the unit, below the top; whole numbers if it is absent. */
  short?: (value: number) => string;
}

export interface Graph {
  title: string;
  lines: Line[];
  left: Scale;
  right: Scale | null;
  /** Why there is nothing. */
  missing: string | null;
}

/** The x axis. */
export interface Across {
  window: readonly [number, number];
  /** Seconds since the epoch: numbers stand at whole minutes, hours, days. */
  isTime: boolean;
  write: (values: readonly number[]) => string[];
  /** Pixels between two numbers. */
  space: number;
  /** Allowed distances of numbers. */
  increments?: number[];
}

/** The newest value, and where it stands. */
export function lastOf(values: Values): number {
  for (let i = values.length - 1; i >= 0; i--) if (values[i] !== null) return i;
  return -1;
}

/** The highest number of an axis: a multiple of `step` that is not below `most`. */
export const nice = (most: number, step: number) => Math.max(step, Math.ceil(most / step) * step);

/** So many units of the first digit an axis may end at: its middle is a plain number too. */
const TOPS = [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10];

/** The highest number of an axis of counts: an even one that is not below `most`. */
export function topOf(most: number) {
  const unit = 10 ** Math.floor(Math.log10(Math.max(most, 1)));
  const top = TOPS.find((it) => it * unit >= most) ?? 10;
  return Math.ceil(Math.round(top * unit) / 2) * 2;
}

export const mostOf = (...of: (Values | null)[]) =>
  Math.max(0, ...of.flatMap((values) => values ?? []).filter((value) => value !== null));
