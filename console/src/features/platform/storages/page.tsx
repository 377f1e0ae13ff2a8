import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import type { PlatformStorage } from "@/api/generated/types";
import { useLoadedPages } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { monthlyOf } from "@/lib/money";
import { FilterBar, FilterLinks } from "@/ui/filter-links";
import { Empty, PageHead } from "@/ui/page";
import { SearchField } from "@/ui/search-field";
import { matches } from "../instances/find";
import { FindFooter } from "../parts/find-footer";
import { TenantFilter } from "../parts/tenant-filter";
import { DeleteStorageDialog } from "./delete";
import { storages } from "./queries";
import { storageStanding } from "./standing";
import { storageStates } from "./states";
import { StorageTable } from "./table";

const route = getRouteApi("/_app/admin/storages/");

export function StoragesPage() {
  const { t } = useText();
  const { total } = useFormat();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const list = useLoadedPages(storages(search));
  const read = list.data.pages.flatMap((page) => page.items);
  const find = search.find ?? "";
  const items = find ? read.filter((it) => matches(it, find)) : read;
  const [deleting, setDeleting] = useState<PlatformStorage | null>(null);
  const more = list.hasNextPage ? () => void list.fetchNextPage() : undefined;
  const size = read.reduce((sum, it) => sum + it.size_gib, 0);
  const summary = {
    count: read.length,
    size,
    price: read.length > 0 ? total(monthlyOf(read)) : "–",
  };
  return (
    <>
      <PageHead title={t("fleet.storages")}>
        {list.hasNextPage ? t("fleet.storagesMore", summary) : t("fleet.storagesSummary", summary)}
      </PageHead>
      <FilterBar>
        <SearchField
          label={t("fleet.searchStorages")}
          value={find}
          onChange={(next) =>
            void navigate({ search: (old) => ({ ...old, find: next || undefined }), replace: true })
          }
        />
        <TenantFilter
          value={search.tenant}
          onChange={(tenant) => void navigate({ search: (old) => ({ ...old, tenant }), replace: true })}
        />
        <FilterLinks
          label={t("platform.filterState")}
          links={[undefined, ...storageStates].map((state) => ({
            label: state ? t(storageStanding[state].word) : t("platform.all"),
            link: { to: "/admin/storages", search: { ...search, state } },
            chosen: search.state === state,
          }))}
        />
      </FilterBar>
      <StorageTable
        items={items}
        onDelete={setDeleting}
        onEnd={find ? undefined : more}
        empty={<Empty title={t("fleet.noneFound")}>{t("fleet.noneFoundHint")}</Empty>}
        footer={
          <FindFooter
            found={items.length}
            read={read.length}
            isFinding={find !== ""}
            onMore={more}
            isLoading={list.isFetchingNextPage}
          />
        }
      />
      {deleting && <DeleteStorageDialog it={deleting} onClose={() => setDeleting(null)} />}
    </>
  );
}
