import { clsx } from "clsx";

const tones = { calm: "bg-ink-2", ultra: "bg-ultra", warn: "bg-ochre", full: "bg-vermilion" };
export type MeterTone = keyof typeof tones;

/** How much of something is used: calm, near its end, or at it. */
export const toneOf = (part: number): MeterTone => (part >= 1 ? "full" : part >= 0.8 ? "warn" : "calm");

/** A ruled bar that fills up. What it says stands beside it in words, too. */
export function Meter({
  part,
  label,
  tone = toneOf(part),
  marks = [],
}: {
  /** 0 to 1; more is full. */
  part: number;
  /** For those who do not see it. */
  label: string;
  tone?: MeterTone;
  /** Parts at which something happens. */
  marks?: readonly number[];
}) {
  const percent = (value: number) => `${Math.min(1, Math.max(0, value)) * 100}%`;
  return (
    <span
      role="img"
      aria-label={label}
      className="relative block h-2 w-full rounded-sm border border-line-strong bg-sheet"
    >
      <span className={clsx("block h-full rounded-[2px]", tones[tone])} style={{ width: percent(part) }} />
      {marks.map((mark) => (
        <span
          key={mark}
          className="-inset-y-1 absolute w-px bg-ink-3"
          style={{ left: percent(mark) }}
          aria-hidden="true"
        />
      ))}
    </span>
  );
}
