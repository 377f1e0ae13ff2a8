import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import type { JobState } from "@/api/generated/types";
import type { JobSort } from "@/api/jobs/cache";
import { ends } from "@/api/jobs/states";
import { type JobSearch, statesOf } from "@/domain/jobs/filter";
import { useText } from "@/i18n";
import { FilterLinks } from "@/ui/filter-links";
import { OrderSelect } from "@/ui/order-select";

const KindAndLevel = lazy(() => import("./kind-and-level"));

export function Filter({ search }: { search: JobSearch }) {
  const { t } = useText();
  const navigate = useNavigate();
  const asked = statesOf(search.state);
  // several can be given in the address
  const choices: (readonly JobState[])[] = [[], ...ends.map((state) => [state])];
  if (!choices.some((choice) => choice.join(",") === asked.join(","))) choices.push(asked);
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 max-md:w-full">
      <FilterLinks
        label={t("jobs.filterState")}
        links={choices.map((choice) => {
          const state = choice.join(",");
          return {
            label: choice.map((one) => t(`jobs.${one}`)).join(" + ") || t("jobs.all"),
            chosen: state === asked.join(","),
            link: { to: "/jobs", search: { ...search, state: state || undefined } },
          };
        })}
      />
      <Suspense>
        <KindAndLevel search={search} />
        <OrderSelect<JobSort>
          value={search.sort ?? "-ended_at"}
          choices={[
            { value: "-ended_at", label: t("jobs.endedLast") },
            { value: "-created_at", label: t("jobs.newest") },
            { value: "created_at", label: t("jobs.oldest") },
            { value: "-cost", label: t("jobs.mostExpensive") },
            { value: "cost", label: t("jobs.cheapest") },
          ]}
          onChange={(sort) => void navigate({ to: "/jobs", search: { ...search, sort }, replace: true })}
        />
      </Suspense>
    </div>
  );
}
