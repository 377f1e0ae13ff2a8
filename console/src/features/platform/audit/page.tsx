import { getRouteApi } from "@tanstack/react-router";
import { useLoadedPages } from "@/api/query";
import { useText } from "@/i18n";
import { FilterBar, FilterLinks } from "@/ui/filter-links";
import { PageHead } from "@/ui/page";
import { TenantFilter } from "../parts/tenant-filter";
import { EntryTable } from "./entries";
import { logs } from "./logs";
import { entries } from "./queries";
import { Verification } from "./verification";
import { useLogWords } from "./words";

const route = getRouteApi("/_app/admin/audit");

export function AuditPage() {
  const { t } = useText();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const list = useLoadedPages(entries(search));
  const items = list.data.pages.flatMap((page) => page.items);
  const words = useLogWords();
  return (
    <>
      <PageHead title={t("audit.title")}>{t("audit.hint")}</PageHead>
      <Verification />
      <FilterBar>
        <TenantFilter
          value={search.tenant}
          onChange={(tenant) => void navigate({ search: (old) => ({ ...old, tenant }), replace: true })}
        />
        <FilterLinks
          label={t("audit.filterLog")}
          links={[undefined, ...logs].map((log) => ({
            label: log ? words[log] : t("platform.all"),
            link: { to: "/admin/audit", search: { ...search, log } },
            chosen: search.log === log,
          }))}
        />
      </FilterBar>
      <EntryTable
        items={items}
        isLoadingMore={list.isFetchingNextPage}
        onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
      />
    </>
  );
}
