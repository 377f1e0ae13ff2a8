import { Link, type LinkProps } from "@tanstack/react-router";
import { clsx } from "clsx";

export interface FilterLink {
  key: string;
  label: string;
  link: LinkProps;
  chosen: boolean;
}

/** What a list can be narrowed to: each choice has its address. */
export function FilterLinks({ label, links }: { label: string; links: readonly FilterLink[] }) {
  return (
    <nav aria-label={label} className="-mx-1 flex max-w-full gap-1 overflow-x-auto px-1 py-1 text-sm">
      {links.map(({ key, label, link, chosen }) => (
        <Link
          key={key}
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
