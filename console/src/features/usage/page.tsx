import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Download } from "lucide-react";
import { budget as budgetQuery } from "@/api/catalogue";
import { asCurl } from "@/api/client";
import { listJobUsage, listUsage } from "@/api/generated/operations";
import { pools as poolsQuery } from "@/api/jobs/queries";
import { useLoaded, useLoadedPages } from "@/api/query";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy";
import { PageHead, Panel, Section } from "@/ui/page";
import { Segmented } from "@/ui/segmented";
import { BudgetCard } from "./budget-card";
import { Charts, ForecastLine } from "./charts";
import {
  type AnyGrouping,
  groupingOf,
  groupings,
  jobGroupingOf,
  jobGroupings,
  type Subject,
  subjects,
} from "./choices";
import { useCsv } from "./download";
import { JobTable } from "./job-table";
import { useNames } from "./names";
import { NotInSum } from "./not-in-sum";
import type { Choice } from "./period";
import { PeriodBar } from "./period-bar";
import { jobQueryOf, jobUsage, queryOf, usage } from "./queries";
import { forecastOf, rounded } from "./report";
import { partsOf } from "./report-parts";
import { Sentence } from "./sentence";
import { UsageTable } from "./table";
import { UsageTabs } from "./tabs";

const route = getRouteApi("/_app/usage/");

export function UsagePage() {
  const { t } = useText();
  const { by: wanted, of = "instances", ...choice } = route.useSearch();
  const navigate = route.useNavigate();
  const isOfJobs = of === "jobs";
  const by = groupingOf(isOfJobs ? undefined : wanted);
  const jobBy = jobGroupingOf(isOfJobs ? wanted : undefined);
  const list = useLoadedPages(usage(choice, by));
  const jobList = useLoadedPages(jobUsage(choice, jobBy));
  const budget = useLoaded(budgetQuery);
  const nameOf = useNames(by === "instance");
  const { data: pools } = useQuery({ ...poolsQuery, enabled: jobBy === "pool" });
  const poolName = (id: string) => pools?.find((pool) => String(pool.id) === id)?.name ?? null;
  const csv = useCsv(list, "usage", {
    by,
    figures: ["running_seconds", "held_seconds"],
    nameOf: by === "instance" ? (group) => nameOf(group).name : undefined,
  });
  const jobCsv = useCsv(jobList, "job-usage", {
    by: jobBy,
    figures: ["attempts", "seconds", "uncharged_seconds"],
    nameOf: jobBy === "pool" ? ({ group }) => poolName(group) : undefined,
  });
  const file = isOfJobs ? jobCsv : csv;
  const instances = partsOf(list, by);
  const jobs = partsOf(jobList, jobBy);
  const { window } = instances;
  const forecast = choice.period === undefined ? forecastOf([...instances.days, ...jobs.days], window) : null;
  const go = (change: Partial<Choice> & { by?: AnyGrouping | undefined; of?: Subject | undefined }) =>
    void navigate({ search: (old) => ({ ...old, ...change }), resetScroll: false });
  const words = {
    day: t("usage.byDay"),
    spec: t("usage.bySpec"),
    instance: t("usage.byInstance"),
    kind: t("usage.byKind"),
    pool: t("usage.byPool"),
    charge: t("usage.byCharge"),
  };
  const curl = isOfJobs
    ? asCurl(listJobUsage, { query: jobQueryOf(window, jobBy) })
    : asCurl(listUsage, { query: queryOf(window, by) });
  return (
    <>
      <PageHead
        title={t("usage.title")}
        actions={
          <>
            <CopyButton kind="quiet" label={t("ui.copyAsCurl")} text={curl} />
            <Button busy={file.busy} onClick={file.run}>
              <Download className="size-4" aria-hidden="true" />
              {file.busy ? t("usage.csvBusy") : t("usage.csv")}
            </Button>
          </>
        }
      >
        <Sentence kinds={rounded(instances.kinds)} charges={rounded(jobs.kinds)} window={window} />
      </PageHead>
      <UsageTabs />
      <PeriodBar choice={choice} window={window} onChange={go} />
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-x-6 gap-y-6 lg:grid-cols-[minmax(0,1fr)_17rem]">
        <div className="min-w-0">
          <Section title={t("usage.costByDay")}>
            <Panel>
              <Charts
                instances={rounded(instances.days)}
                jobs={rounded(jobs.days)}
                window={window}
                forecast={forecast}
              />
              {choice.period === undefined && instances.days.length + jobs.days.length > 0 && (
                <ForecastLine forecast={forecast} window={window} />
              )}
            </Panel>
          </Section>
          <Section title={t("usage.table")} hint={isOfJobs ? t("usage.jobsHint") : t("usage.tableHint")}>
            <div className="mb-2 flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
              <Segmented
                label={t("usage.subject")}
                value={of}
                choices={subjects.map((value) => ({ value, label: t(`usage.${value}`) }))}
                onChange={(next) => go({ of: next === "jobs" ? next : undefined, by: undefined })}
              />
              <Segmented<AnyGrouping>
                label={t("usage.groupBy")}
                value={isOfJobs ? jobBy : by}
                choices={(isOfJobs ? jobGroupings : groupings).map((value) => ({
                  value,
                  label: words[value],
                }))}
                onChange={(next) => go({ by: next === "day" ? undefined : next })}
              />
            </div>
            {isOfJobs ? (
              <JobTable
                groups={jobs.groups}
                charges={jobs.kinds}
                by={jobBy}
                poolName={poolName}
                onEnd={jobs.onEnd}
              />
            ) : (
              <UsageTable
                groups={instances.groups}
                kinds={instances.kinds}
                by={by}
                nameOf={nameOf}
                onEnd={instances.onEnd}
              />
            )}
          </Section>
        </div>
        <div className="min-w-0 space-y-6">
          <BudgetCard budget={budget} />
          <NotInSum />
        </div>
      </div>
    </>
  );
}
