import { Link } from "@tanstack/react-router";
import { clsx } from "clsx";
import { lazy, Suspense } from "react";
import type { JobState } from "@/api/generated/types";
import type { JobFilter } from "@/api/jobs/cache";
import { useText } from "@/i18n";

const KindAndLevel = lazy(() => import("./kind-and-level"));

const ends = ["succeeded", "failed", "cancelled", "expired"] as const satisfies JobState[];

export function Filter({ filter }: { filter: JobFilter }) {
  const { t } = useText();
  const states: (JobState | undefined)[] = [undefined, ...ends];
  if (filter.state && !states.includes(filter.state)) states.push(filter.state);
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 max-md:w-full">
      <nav
        aria-label={t("jobs.filterState")}
        className="-mx-1 flex max-w-full gap-1 overflow-x-auto px-1 py-1 text-sm"
      >
        {states.map((state) => (
          <Link
            key={state ?? "all"}
            to="/jobs"
            search={{ ...filter, state }}
            replace
            aria-current={filter.state === state ? "true" : undefined}
            className={clsx(
              "flex h-7 shrink-0 items-center whitespace-nowrap rounded-md px-2.5 max-md:h-9",
              filter.state === state
                ? "bg-wash font-medium text-ink"
                : "text-ink-2 hover:bg-wash hover:text-ink",
            )}
          >
            {state ? t(`jobs.${state}`) : t("jobs.all")}
          </Link>
        ))}
      </nav>
      <Suspense>
        <KindAndLevel filter={filter} />
      </Suspense>
    </div>
  );
}
