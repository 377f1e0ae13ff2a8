import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { budget as budgetQuery } from "@/api/catalogue";
import { useWhyNot } from "@/app/roles";
import { useAllInstances } from "@/domain/instances/all";
import { summaryOf } from "@/domain/instances/summary";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { Button, ButtonLink } from "@/ui/button";
import { PageHead } from "@/ui/page";
import { FirstSteps } from "./first-steps";
import { MonthCard } from "./month-card";
import { needsOf } from "./needs";
import { NeedsLook } from "./needs-look";
import { failedJobs } from "./queries";
import { Recent } from "./recent";
import { RunningNow } from "./running-now";
import { StartAgain } from "./start-again";

const MINUTE = 60_000;

/** How the studio stands: what runs, what it costs, what needs a look. */
export function OverviewPage() {
  const { t } = useText();
  const { total, sentences } = useFormat();
  const { items, whole, running, isMore } = useAllInstances();
  const { data: budget = null } = useQuery(budgetQuery);
  const { data: jobs = [] } = useQuery(failedJobs);
  const now = Math.floor(useNow() / MINUTE) * MINUTE;
  const needs = needsOf(items, budget, jobs, now);
  const isEmpty = whole && items.length === 0;
  const summary = running && summaryOf(running);
  return (
    <>
      <PageHead title={t("overview.title")} actions={<StartButton isFirst={isEmpty} />}>
        {summary &&
          sentences([
            summary.running === 0
              ? t("instances.noneRunning")
              : t("instances.sentence", {
                  running: t(isMore ? "instances.countRunningMore" : "instances.countRunning", {
                    count: summary.running,
                  }),
                  rate: total(summary.rate),
                }),
            summary.held > 0 &&
              t("instances.countHeld", { count: summary.held, rate: total(summary.heldRate) }),
            needs.length > 0 && t("overview.needLook", { count: needs.length }),
          ])}
      </PageHead>
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-x-6 xl:grid-cols-[minmax(0,1fr)_20rem]">
        {isEmpty ? <FirstSteps /> : <RunningNow items={running ?? []} />}
        <div className="max-xl:mt-6">
          <MonthCard />
        </div>
      </div>
      {needs.length > 0 && <NeedsLook needs={needs} />}
      {!isEmpty && (
        <div className="mt-6 grid grid-cols-[minmax(0,1fr)] items-start gap-x-6 xl:grid-cols-[minmax(0,1fr)_20rem]">
          <Recent items={items} />
          <div className="max-xl:mt-6">
            <StartAgain items={items} />
          </div>
        </div>
      )}
    </>
  );
}

function StartButton({ isFirst }: { isFirst: boolean }) {
  const { t } = useText();
  const reason = useWhyNot("instances.write");
  // the first step has the filled button
  if (isFirst) return null;
  const label = (
    <>
      <Plus className="size-4" aria-hidden="true" />
      {t("instances.startOne")}
    </>
  );
  return reason ? (
    <Button kind="primary" disabled={reason}>
      {label}
    </Button>
  ) : (
    <ButtonLink kind="primary" to="/instances/new">
      {label}
    </ButtonLink>
  );
}
