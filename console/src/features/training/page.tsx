import { getRouteApi } from "@tanstack/react-router";
import { asCurl } from "@/api/client";
import { createJob } from "@/api/generated/operations";
import type { Job, JobState } from "@/api/generated/types";
import { trainings } from "@/api/jobs/queries";
import { models } from "@/api/models";
import { useLoadedPages } from "@/api/query";
import { JobAnnouncements } from "@/domain/jobs/announcements";
import { TrainLink } from "@/domain/models/train-link";
import { useText } from "@/i18n";
import { ButtonLink } from "@/ui/button";
import { CopyButton } from "@/ui/copy";
import { FilterLinks } from "@/ui/filter-links";
import { Empty, PageHead } from "@/ui/page";
import { TrainingTable } from "./table";

const route = getRouteApi("/_app/training/");

const states = ["queued", "running", "succeeded", "failed", "cancelled"] as const satisfies JobState[];

export function TrainingsPage() {
  const { t } = useText();
  const { state } = route.useSearch();
  const list = useLoadedPages(trainings(state));
  const { data: known } = useLoadedPages(models);
  const items = list.data.pages.flatMap((page) => page.items);
  const unreadable = list.data.pages.flatMap((page) => page.unreadable);
  const isEmpty = items.length === 0 && !state;
  return (
    <>
      <PageHead
        title={t("training.title")}
        actions={<TrainLink kind="primary">{t("training.train")}</TrainLink>}
      >
        {!isEmpty && <Sentence items={items} />}
      </PageHead>
      <JobAnnouncements items={items} />
      {!isEmpty && (
        <div className="mb-3 flex min-h-11 items-center">
          <FilterLinks
            label={t("jobs.state")}
            links={[undefined, ...states].map((one) => ({
              key: one ?? "all",
              label: one ? t(`jobs.${one}`) : t("jobs.all"),
              link: { to: "/training", search: one ? { state: one } : {} },
              chosen: state === one,
            }))}
          />
        </div>
      )}
      <TrainingTable
        items={items}
        models={known.pages.flatMap((page) => page.items)}
        empty={isEmpty ? <NoTrainings /> : <NoneFound />}
        onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
      />
      {unreadable.length > 0 && (
        <p className="mt-3 break-all text-ochre text-sm">
          {t("training.unreadable", { count: unreadable.length, ids: unreadable.join(", ") })}
        </p>
      )}
    </>
  );
}

function Sentence({ items }: { items: readonly Job[] }) {
  const { t } = useText();
  const count = (...wanted: JobState[]) => items.filter((it) => wanted.includes(it.state)).length;
  return t("training.summary", {
    running: t("training.runningCount", { count: count("running", "assigned", "cancelling") }),
    waiting: t("training.waitingCount", { count: count("queued") }),
    made: t("training.madeCount", { count: count("succeeded") }),
    count: items.length,
  });
}

function NoTrainings() {
  const { t } = useText();
  const command = asCurl(createJob, {
    body: {
      application: "dreambooth",
      method: "train",
      parameters: { images: ["upl_…", "upl_…", "upl_…"], theme: "dog" },
    },
  });
  return (
    <Empty
      title={t("training.none")}
      actions={
        <>
          <TrainLink>{t("training.train")}</TrainLink>
          <CopyButton label={t("ui.copyAsCurl")} text={command} />
        </>
      }
    >
      {t("training.noneHint")}
    </Empty>
  );
}

function NoneFound() {
  const { t } = useText();
  return (
    <Empty
      title={t("training.noneFound")}
      actions={
        <ButtonLink to="/training" search={{}} replace>
          {t("training.showAll")}
        </ButtonLink>
      }
    >
      {t("training.noneFoundHint")}
    </Empty>
  );
}
