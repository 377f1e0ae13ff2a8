import { clsx } from "clsx";
import type { ReactNode } from "react";

export interface Change {
  key: string;
  sign: "+" | "−" | "↑" | "↓" | "=" | "→" | "!";
  text: ReactNode;
}

const tones: Record<Change["sign"], string> = {
  "+": "text-viridian",
  "−": "text-vermilion",
  "↑": "text-ochre",
  "↓": "text-ochre",
  "→": "text-ultra",
  "=": "text-ink-3",
  "!": "text-ochre",
};

/** What a press will do, written out before it. */
export function Changes({
  title,
  changes,
  empty,
}: {
  title: string;
  changes: readonly Change[];
  /** While there is nothing to do. */
  empty?: string;
}) {
  return (
    <div
      role="status"
      className="num rounded-md border border-line border-l-3 border-l-ultra px-3.5 py-2.5 text-sm"
    >
      <p className="font-medium">{title}</p>
      {changes.length === 0 && empty && <p className="mt-1 text-ink-3">{empty}</p>}
      <ul className="mt-1 space-y-1">
        {changes.map(({ key, sign, text }) => (
          <li key={key} className="grid grid-cols-[0.875rem_minmax(0,1fr)] gap-1.5">
            <span className={clsx("font-medium", tones[sign])} aria-hidden="true">
              {sign}
            </span>
            <span className={clsx("min-w-0 break-words", sign === "=" && "text-ink-2")}>{text}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
