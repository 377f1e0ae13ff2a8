import { Link, type LinkProps } from "@tanstack/react-router";
import { clsx } from "clsx";
import type { ReactNode } from "react";

export interface FilterChoice {
  label: string;
  link: LinkProps;
  current: boolean;
}

/** One of a few, each with its own address. */
export function FilterLinks({ label, choices }: { label: string; choices: readonly FilterChoice[] }) {
  return (
    <nav aria-label={label} className="-mx-1 flex max-w-full gap-1 overflow-x-auto px-1 py-1 text-sm">
      {choices.map((choice) => (
        <Link
          key={choice.label}
          {...choice.link}
          replace
          aria-current={choice.current ? "true" : undefined}
          className={clsx(
            "flex h-7 shrink-0 items-center whitespace-nowrap rounded-md px-2.5 max-md:h-9",
            choice.current ? "bg-wash font-medium text-ink" : "text-ink-2 hover:bg-wash hover:text-ink",
          )}
        >
          {choice.label}
        </Link>
      ))}
    </nav>
  );
}

export function FilterBar({ children }: { children: ReactNode }) {
  return <div className="mb-3 flex min-h-9 flex-wrap items-center gap-x-4 gap-y-2">{children}</div>;
}
