import type { ReactNode } from "react";

/** What was chosen, in a summary: inside a list of terms with two columns. */
export function SumFact({ name, more, children }: { name: string; more?: ReactNode; children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-3">{name}</dt>
      <dd className="min-w-0 break-words">
        {children}
        {more && <span className="block text-ink-3 text-xs">{more}</span>}
      </dd>
    </>
  );
}

/** A line of a sum: what it is, and how much at the right. */
export function SumLine({ name, children }: { name: ReactNode; children: ReactNode }) {
  return (
    <div className="flex items-baseline justify-between gap-3">
      <dt className="text-ink-2">{name}</dt>
      <dd className="num">{children}</dd>
    </div>
  );
}
