import { Link, type LinkProps } from "@tanstack/react-router";
import { clsx } from "clsx";
import { ChevronRight } from "lucide-react";
import { type ReactNode, useId } from "react";

/** An address breaks after its slashes rather than within a word. */
const breakable = (title: string): ReactNode[] =>
  title.split(/(?<=\/)/).flatMap((part, i) => (i === 0 ? [part] : [<wbr key={part} />, part]));

/** Title, one sentence that says how things stand in numbers, actions at the right. */
export function PageHead({
  title,
  mark,
  children,
  actions,
  up,
}: {
  title: string;
  /** The state of the thing, beside its name. */
  mark?: ReactNode;
  children?: ReactNode;
  actions?: ReactNode;
  /** The list that it belongs to; pages of the first level have none. */
  up?: { label: string; link: LinkProps };
}) {
  return (
    <header className="mb-5 flex flex-wrap items-end justify-between gap-3">
      <title>{`${title} · Atelier`}</title>
      <div className="min-w-0">
        {up && (
          <p className="flex items-center gap-1 text-ink-3 text-xs">
            <Link {...up.link} className="hover:text-ink hover:underline">
              {up.label}
            </Link>
            <ChevronRight className="size-3" aria-hidden="true" />
          </p>
        )}
        <div className="flex flex-wrap items-center gap-x-4">
          <h1 className="wrap-anywhere min-w-0 font-medium font-serif text-xl">{breakable(title)}</h1>
          {mark}
        </div>
        {children && <p className="num text-pretty text-ink-2 text-sm">{children}</p>}
      </div>
      {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
    </header>
  );
}

export function Section({
  title,
  hint,
  actions,
  children,
}: {
  title: string;
  hint?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="mt-6 min-w-0 first:mt-0">
      <div className="mb-2 flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
        <div className="min-w-0">
          <h2 id={id} className="font-medium text-lg">
            {title}
          </h2>
          {hint && <p className="max-w-[68ch] text-balance text-ink-2 text-sm">{hint}</p>}
        </div>
        {actions}
      </div>
      {children}
    </section>
  );
}

/** A raised sheet. Never one inside another. */
export function Panel({ className, children }: { className?: string; children: ReactNode }) {
  return <div className={clsx("rounded-lg border border-line bg-sheet", className)}>{children}</div>;
}

/** A setting: what it is at the left, what changes it at the right. */
export function Row({ title, hint, children }: { title: ReactNode; hint?: ReactNode; children?: ReactNode }) {
  return (
    <div className="flex min-h-14 flex-wrap items-center justify-between gap-x-4 gap-y-2 border-line border-b px-4 py-2.5 last:border-b-0">
      <div className="min-w-0 max-w-[68ch] flex-1 basis-44">
        <div className="text-base">{title}</div>
        {hint && <div className="text-ink-3 text-xs">{hint}</div>}
      </div>
      {children && <div className="flex items-center gap-2">{children}</div>}
    </div>
  );
}

/** What it is, what it costs, and the button that makes the first. */
export function Empty({
  title,
  children,
  actions,
}: {
  title: string;
  children: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <div className="px-4 py-8 text-center">
      <p className="font-medium">{title}</p>
      <p className="mx-auto mt-1 max-w-[56ch] text-balance text-ink-2 text-sm">{children}</p>
      {actions && <div className="mt-4 flex flex-wrap justify-center gap-2">{actions}</div>}
    </div>
  );
}

export interface Tab {
  label: string;
  count?: number;
  link: LinkProps;
}

/** Parts of a page, each with its own address. */
export function TabLinks({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  return (
    <nav aria-label={label} className="mb-6 flex gap-6 overflow-x-auto border-line border-b max-md:gap-5">
      {tabs.map((tab) => (
        <Link
          key={tab.label}
          {...tab.link}
          activeOptions={{ exact: true, includeSearch: false }}
          className="-mb-px flex h-9 shrink-0 items-center gap-1.5 border-b-2 border-transparent text-ink-2 text-sm hover:text-ink -outline-offset-2 max-md:h-11"
          activeProps={{ className: "border-ultra! font-medium text-ink" }}
        >
          {tab.label}
          {tab.count !== undefined && <span className="num text-ink-3 text-xs">{tab.count}</span>}
        </Link>
      ))}
    </nav>
  );
}
