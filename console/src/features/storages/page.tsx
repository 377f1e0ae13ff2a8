import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import type { Storage, StorageId } from "@/api/generated/types";
import { instances } from "@/api/instances/queries";
import { useLoadedPages } from "@/api/query";
import { storagePages } from "@/api/storages/queries";
import { useWhyNot } from "@/app/roles";
import type { StorageAction } from "@/domain/storages/acts";
import { StorageDialogs } from "@/domain/storages/dialogs";
import { storageFilter } from "@/domain/storages/filter";
import { isMoving, standingOf } from "@/domain/storages/standing";
import { useText } from "@/i18n";
import { ChangesSaid } from "@/ui/changes-said";
import { PageHead } from "@/ui/page";
import { CreateLink, NoneFound, NoStorages } from "./empty";
import { Filter } from "./filter";
import { useSentence } from "./sentence";
import { StorageTable } from "./storage-table";

const route = getRouteApi("/_app/storages/");

export function StoragesPage() {
  const { t } = useText();
  const filter = storageFilter(route.useSearch());
  const list = useLoadedPages(storagePages(filter));
  const { data: known } = useInfiniteQuery(instances());
  const reason = useWhyNot("storages.write");
  const sentence = useSentence();
  const [open, setOpen] = useState<{ action: StorageAction; id: StorageId } | null>(null);
  const items = list.data.pages.flatMap((page) => page.items);
  const unreadable = list.data.pages.flatMap((page) => page.unreadable);
  const isFiltered = Boolean(filter.kind || filter.name || filter.states?.length);
  const isEmpty = items.length === 0 && !isFiltered;
  const chosen = items.find((it) => it.id === open?.id);
  const onAct = (action: StorageAction, { id }: Storage) => setOpen({ action, id });
  return (
    <>
      <PageHead title={t("storages.title")} actions={<CreateLink reason={reason} primary />}>
        {!isEmpty && sentence}
      </PageHead>
      <ChangesSaid
        items={items.map((it) => ({
          id: it.id,
          state: it.state,
          rests: !isMoving(it),
          text: t("storages.changed", { name: it.name, state: t(standingOf(it).word) }),
        }))}
      />
      {!isEmpty && <Filter filter={filter} />}
      <StorageTable
        items={items}
        instances={known?.pages.flatMap((page) => page.items) ?? []}
        onAct={onAct}
        empty={isFiltered ? <NoneFound /> : <NoStorages reason={reason} />}
        total={list.data.pages[0]?.total}
        isLoadingMore={list.isFetchingNextPage}
        onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
      />
      {unreadable.length > 0 && (
        <p className="mt-3 break-all text-ochre text-sm">
          {t("storages.unreadable", { count: unreadable.length, ids: unreadable.join(", ") })}
        </p>
      )}
      {chosen && <StorageDialogs action={open?.action} it={chosen} onClose={() => setOpen(null)} />}
    </>
  );
}
