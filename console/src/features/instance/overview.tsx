import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import type { InstanceId } from "@/api/generated/types";
import { history, recentRuns } from "@/api/instances/details";
import { instance } from "@/api/instances/queries";
import type { Range } from "@/api/instances/ranges";
import { useLoaded } from "@/api/query";
import { isFailed, isMoving } from "@/domain/instances/standing";
import { useText } from "@/i18n";
import { Section } from "@/ui/page";
import { Address } from "./address";
import { FailedReason, WhatToDo } from "./failed";
import { Guards } from "./guards";
import { HoldBox } from "./hold";
import { Storages } from "./storages";
import { TheStart } from "./the-start";
import { WaitingBox } from "./waiting";
import { LastWeek } from "./week-section";

const Use = lazy(() => import("./charts/section"));

export function OverviewPage({ id, range }: { id: InstanceId; range: Range | undefined }) {
  const { t } = useText();
  const it = useLoaded(instance(id));
  const { data: events } = useQuery(history(id));
  const { data: runs } = useQuery(recentRuns(id));
  const failed = isFailed(it);
  const ranLately = runs?.some((run) => run.kind === "running") ?? false;
  const showsUse = it.state === "running" || (!isMoving(it) && ranLately && !failed);
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-x-10 gap-y-8 min-[1100px]:grid-cols-[minmax(0,1fr)_20rem]">
      <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-8 max-md:contents [&>section]:mt-0">
        {failed && <FailedReason it={it} />}
        {it.queue && <WaitingBox it={it} />}
        {it.hold && <HoldBox it={it} hold={it.hold} />}
        {isMoving(it) && !it.queue && <TheStart it={it} events={events} main />}
        {showsUse && (
          <Suspense
            fallback={
              <Section title={t("instance.use")}>
                <div className="h-110" />
              </Section>
            }
          >
            <Use it={it} runs={runs} range={range ?? (it.state === "running" ? "run" : "24h")} />
          </Suspense>
        )}
        <LastWeek it={it} runs={runs} />
        <Guards it={it} />
      </div>
      <div className="grid min-w-0 gap-8 max-md:contents md:max-[1099px]:grid-cols-2 [&>section]:mt-0">
        {failed && (
          // on a narrow screen right below the reason
          <div className="max-md:-order-1">
            <WhatToDo it={it} />
          </div>
        )}
        <Address it={it} />
        <Storages it={it} />
        {!(isMoving(it) && !it.queue) && <TheStart it={it} events={events} />}
      </div>
    </div>
  );
}
