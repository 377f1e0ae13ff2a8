import { getRouteApi } from "@tanstack/react-router";
import { hasEnded } from "@/api/jobs/cache";
import { jobs, openStates } from "@/api/jobs/queries";
import { useLoadedPages } from "@/api/query";
import { useWhyNot } from "@/app/roles";
import { JobAnnouncements } from "@/domain/jobs/announcements";
import { useText } from "@/i18n";
import { PageHead, Panel, Section } from "@/ui/page";
import { NewPictures, NoJobs, NoneFound } from "./empty";
import { Filter } from "./filter";
import { JobTable } from "./job-table";
import { inOrder } from "./order";
import { Queue } from "./queue";
import { useSentence } from "./sentence";

const route = getRouteApi("/_app/jobs/");

/** So many of those that wait are shown; the rest is a number. */
const SHOWN = 30;

function useOpen() {
  const [running, cancelling, assigned, queued] = openStates;
  const lists = [
    useLoadedPages(jobs({ state: running })),
    useLoadedPages(jobs({ state: cancelling })),
    useLoadedPages(jobs({ state: assigned })),
    useLoadedPages(jobs({ state: queued })),
  ];
  return {
    items: inOrder(lists.flatMap((list) => list.data.pages.flatMap((page) => page.items))),
    isMore: lists.some((list) => list.hasNextPage),
  };
}

export function JobsPage() {
  const { t } = useText();
  const { why, ...filter } = route.useSearch();
  const navigate = route.useNavigate();
  const open = useOpen();
  const list = useLoadedPages(jobs(filter));
  const all = useLoadedPages(jobs());
  const reason = useWhyNot("jobs.write");
  const items = list.data.pages.flatMap((page) => page.items);
  const newest = all.data.pages.flatMap((page) => page.items);
  const waiting = open.items.filter((it) => it.state === "queued").length;
  const running = open.items.length - waiting;
  const sentence = useSentence(
    { running, waiting, isMore: open.isMore },
    { items: newest, isWhole: !all.hasNextPage },
  );
  const isFiltered = Object.values(filter).some(Boolean);
  const isEmpty = newest.length === 0 && open.items.length === 0;
  const ended = filter.state ? items : items.filter(hasEnded);
  return (
    <>
      <PageHead title={t("jobs.title")} actions={<NewPictures primary reason={reason} />}>
        {!isEmpty && sentence}
      </PageHead>
      <JobAnnouncements items={newest} />
      {isEmpty && !isFiltered ? (
        <Panel>
          <NoJobs reason={reason} />
        </Panel>
      ) : (
        <>
          {open.items.length > 0 && (
            <Section title={t("jobs.queue")}>
              <Queue
                items={open.items.slice(0, SHOWN)}
                why={why}
                onWhy={(id) => void navigate({ search: (old) => ({ ...old, why: id }), replace: true })}
              />
              {open.items.length > SHOWN && (
                <p className="num mt-2 text-ink-3 text-xs">
                  {t("jobs.queueMore", { count: open.items.length - SHOWN })}
                </p>
              )}
            </Section>
          )}
          <Section title={t("jobs.finished")} actions={<Filter filter={filter} />}>
            <JobTable
              items={ended}
              empty={<NoneFound />}
              isLoadingMore={list.isFetchingNextPage}
              onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
            />
          </Section>
        </>
      )}
    </>
  );
}
