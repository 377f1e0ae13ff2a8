import { clsx } from "clsx";

export interface WhatLine {
  sign: "+" | "−" | "=" | "!";
  text: string;
}

const tones = { "+": "text-viridian", "−": "text-vermilion", "=": "text-ink-3", "!": "text-ochre" };

/** The difference, written out before the press. */
export function What({ title, lines }: { title: string; lines: readonly WhatLine[] }) {
  return (
    <section className="rounded-md border border-line border-l-3 border-l-ultra bg-paper px-4 py-3 text-sm">
      <h3 className="font-medium">{title}</h3>
      <ul className="mt-1.5 space-y-1.5">
        {lines.map((line) => (
          <li key={line.text} className="grid grid-cols-[1rem_1fr] gap-x-1">
            <span className={clsx("font-medium", tones[line.sign])} aria-hidden="true">
              {line.sign}
            </span>
            <span className="num">{line.text}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
