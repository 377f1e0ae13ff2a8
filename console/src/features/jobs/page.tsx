import { getRouteApi } from "@tanstack/react-router";
import { jobs, movingJobs, waitingJobs } from "@/api/jobs/queries";
import { endedJobs } from "@/api/jobs/requests";
import { useLoadedPages } from "@/api/query";
import { useWhyNot } from "@/app/roles";
import { JobAnnouncements } from "@/domain/jobs/announcements";
import { endedFilter } from "@/domain/jobs/filter";
import { useText } from "@/i18n";
import { useFirstScreen } from "@/lib/first-screen";
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
/** So many fill a screen. */
const SCREEN = 12;

function useOpen() {
  const lists = [useLoadedPages(movingJobs), useLoadedPages(waitingJobs)] as const;
  const [running, waiting] = lists.map(({ data, hasNextPage }) => {
    const { total, items } = data.pages[0] ?? {};
    // all that are loaded, or as many as the first page tells
    return (hasNextPage ? total?.count : items?.length) ?? 0;
  });
  return {
    items: inOrder(lists.flatMap((list) => list.data.pages.flatMap((page) => page.items))),
    running: running ?? 0,
    waiting: waiting ?? 0,
    isMore: lists.some((list) => list.data.pages[0]?.total?.is_exact === false),
  };
}

export function JobsPage() {
  const { t } = useText();
  const { why, ...search } = route.useSearch();
  const navigate = route.useNavigate();
  const open = useOpen();
  const list = useLoadedPages(jobs(endedFilter(search)));
  const all = useLoadedPages(jobs(endedJobs));
  const reason = useWhyNot("jobs.write");
  const items = list.data.pages.flatMap((page) => page.items);
  const newest = all.data.pages.flatMap((page) => page.items);
  const sentence = useSentence(open, { items: newest, isWhole: !all.hasNextPage });
  const { sort: _, ...filter } = search;
  const isFiltered = Object.values(filter).some(Boolean);
  const isEmpty = newest.length === 0 && open.items.length === 0;
  const hidden = open.running + open.waiting - SHOWN;
  const isFirst = useFirstScreen() && open.items.length >= SCREEN;
  return (
    <>
      <PageHead title={t("jobs.title")} actions={<NewPictures primary reason={reason} />}>
        {!isEmpty && sentence}
      </PageHead>
      <JobAnnouncements items={[...open.items, ...newest]} />
      {isEmpty && !isFiltered ? (
        <Panel>
          <NoJobs reason={reason} />
        </Panel>
      ) : (
        <>
          {open.items.length > 0 && (
            <Section title={t("jobs.queue")}>
              <Queue
                items={open.items.slice(0, isFirst ? SCREEN : SHOWN)}
                why={why}
                onWhy={(id) => void navigate({ search: (old) => ({ ...old, why: id }), replace: true })}
              />
              {hidden > 0 && (
                <p className="num mt-2 text-ink-3 text-xs">{t("jobs.queueMore", { count: hidden })}</p>
              )}
            </Section>
          )}
          {!isFirst && (
            <Section title={t("jobs.finished")} actions={<Filter search={search} />}>
              <JobTable
                items={items}
                empty={<NoneFound />}
                total={list.data.pages[0]?.total}
                isLoadingMore={list.isFetchingNextPage}
                onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
              />
            </Section>
          )}
        </>
      )}
    </>
  );
}
