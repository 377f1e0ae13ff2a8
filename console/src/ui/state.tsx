import { clsx } from "clsx";
import type { ReactNode } from "react";

export const marks = ["runs", "moves", "rests", "done", "failed"] as const;
export type Mark = (typeof marks)[number];

const tones: Record<Mark, string> = {
  runs: "text-viridian",
  moves: "text-ochre",
  rests: "text-ink-3",
  done: "text-ink-2",
  failed: "text-vermilion",
};

/** A ring: filled runs, half and breathing moves, hollow rests, checked has come to its end, crossed failed. */
export function Ring({ mark, className }: { mark: Mark; className?: string }) {
  return (
    <svg
      viewBox="0 0 10 10"
      className={clsx(
        "size-2.5 shrink-0",
        tones[mark],
        mark === "moves" && "animate-[breathe_1.6s_ease-in-out_infinite]",
        className,
      )}
      aria-hidden="true"
    >
      <circle
        cx="5"
        cy="5"
        r="4"
        fill={mark === "runs" ? "currentColor" : "none"}
        stroke="currentColor"
        strokeWidth="1.5"
      />
      {mark === "moves" && <path d="M5 1a4 4 0 0 1 0 8z" fill="currentColor" />}
      {mark === "done" && (
        <path d="M3 5.2l1.5 1.5L7.2 3.7" fill="none" stroke="currentColor" strokeWidth="1.2" />
      )}
      {mark === "failed" && (
        <path d="M3.4 3.4l3.2 3.2M6.6 3.4L3.4 6.6" stroke="currentColor" strokeWidth="1.4" />
      )}
    </svg>
  );
}

/** The state in a word, with its ring; the reason below. */
export function StateMark({
  mark,
  children,
  reason,
}: {
  mark: Mark;
  children: ReactNode;
  reason?: ReactNode;
}) {
  return (
    <span className="block min-w-0">
      <span className={clsx("inline-flex items-center gap-2 font-medium text-sm", tones[mark])}>
        <Ring mark={mark} />
        {children}
      </span>
      {reason && <span className="block text-ink-3 text-xs">{reason}</span>}
    </span>
  );
}
