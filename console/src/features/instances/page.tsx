import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import type { Instance, InstanceId } from "@/api/generated/types";
import { endedRuns, instances } from "@/api/instances/queries";
import { useLoadedPages } from "@/api/query";
import { useWhyNot } from "@/app/roles";
import { filterOf } from "@/domain/instances/filter";
import { useSentence } from "@/domain/instances/sentence";
import { useText } from "@/i18n";
import { drawnLater } from "@/lib/later";
import { Button, ButtonLink } from "@/ui/button";
import { PageHead } from "@/ui/page";
import { Announcements } from "./announcements";
import { NoInstances, NoneFound } from "./empty";
import { Filter } from "./filter";
import { InstanceTable } from "./instance-table";

const Bulk = lazy(() => import("./bulk"));
const DeleteDialog = drawnLater(() => import("@/domain/instances/delete-dialog"));

/** Keeps the place of the sentence until it is known, so that nothing moves under the pointer. */
const NOT_YET = "\u00a0";

const route = getRouteApi("/_app/instances/");

export function InstancesPage() {
  const { t } = useText();
  const filter = filterOf(route.useSearch());
  const list = useLoadedPages(instances(filter));
  const { data: ended } = useQuery(endedRuns);
  const reason = useWhyNot("instances.write");
  const sentence = useSentence();
  const [deleting, setDeleting] = useState<Instance | null>(null);
  const [chosen, setChosen] = useState<ReadonlySet<InstanceId>>(new Set());
  const items = list.data.pages.flatMap((page) => page.items);
  const unreadable = list.data.pages.flatMap((page) => page.unreadable);
  const isFiltered = Boolean(filter.name || filter.states?.length);
  const isEmpty = items.length === 0 && !isFiltered;
  const bar = !isEmpty && <Filter filter={filter} />;
  // once there, it stays: it shows what became of those that were chosen
  const [hasChosen, setHasChosen] = useState(false);
  if (chosen.size > 0 && !hasChosen) setHasChosen(true);
  const start = (
    <>
      <Plus className="size-4" aria-hidden="true" />
      {t("instances.startOne")}
    </>
  );
  return (
    <>
      <PageHead
        title={t("instances.title")}
        actions={
          reason ? (
            <Button kind="primary" disabled={reason}>
              {start}
            </Button>
          ) : (
            <ButtonLink kind="primary" to="/instances/new">
              {start}
            </ButtonLink>
          )
        }
      >
        {!isEmpty && (sentence ?? NOT_YET)}
      </PageHead>
      <Announcements items={items} />
      {hasChosen ? (
        <Suspense fallback={bar}>
          <Bulk items={items.filter((it) => chosen.has(it.id))} onEnd={() => setChosen(new Set())}>
            {bar}
          </Bulk>
        </Suspense>
      ) : (
        bar
      )}
      <InstanceTable
        items={items}
        ended={ended}
        onDelete={setDeleting}
        chosen={chosen}
        onChoose={reason ? undefined : setChosen}
        empty={isFiltered ? <NoneFound /> : <NoInstances reason={reason} />}
        total={list.data.pages[0]?.total}
        isLoadingMore={list.isFetchingNextPage}
        onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
      />
      {unreadable.length > 0 && (
        <p className="mt-3 break-all text-ochre text-sm">
          {t("instances.unreadable", { count: unreadable.length, ids: unreadable.join(", ") })}
        </p>
      )}
      {deleting && <DeleteDialog it={deleting} onClose={() => setDeleting(null)} />}
    </>
  );
}
