import { Link, type LinkProps } from "@tanstack/react-router";
import { clsx } from "clsx";
import type { ReactNode } from "react";

export interface FilterLink {
  label: string;
  link: LinkProps;
  chosen: boolean;
}

/** What a list can be narrowed to: each choice has its address. */
export function FilterLinks({ label, links }: { label: string; links: readonly FilterLink[] }) {
  return (
    <nav aria-label={label} className="-mx-1 flex max-w-full gap-1 overflow-x-auto px-1 py-1 text-sm">
      {links.map(({ label, link, chosen }) => (
        <Link
          key={label}
          {...link}
          replace
          aria-current={chosen ? "true" : undefined}
          className={clsx(
            "flex h-7 shrink-0 items-center whitespace-nowrap rounded-md px-2.5 max-md:h-9",
            chosen ? "bg-wash font-medium text-ink" : "text-ink-2 hover:bg-wash hover:text-ink",
          )}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}

/** Filters of a list in one row. */
export function FilterBar({ children }: { children: ReactNode }) {
  return <div className="mb-3 flex min-h-9 flex-wrap items-center gap-x-4 gap-y-2">{children}</div>;
}
