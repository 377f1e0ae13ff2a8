import type { ReactNode } from "react";

/** What a thing is, in one row that wraps. */
export function Facts({ children }: { children: ReactNode }) {
  return (
    <dl className="num mb-5 grid grid-cols-2 gap-x-4 gap-y-3 text-sm md:flex md:flex-wrap md:gap-x-10">
      {children}
    </dl>
  );
}

export function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-ink-3 text-xs">{label}</dt>
      <dd className="break-words [&_a]:text-ultra">{children}</dd>
    </div>
  );
}
