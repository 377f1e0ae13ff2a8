import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense } from "react";
import type { TenantState } from "@/api/generated/types";
import { useLoadedPages } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { FilterBar, FilterLinks } from "@/ui/filter-links";
import { Empty, PageHead } from "@/ui/page";
import { SearchField } from "@/ui/search-field";
import { totalsOf } from "../parts/spent";
import { spending, tenants } from "./queries";
import { TenantTable } from "./table";

const CreateTenantDialog = lazy(() => import("./create"));

const route = getRouteApi("/_app/admin/tenants/");

export function TenantsPage() {
  const { t } = useText();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const list = useLoadedPages(tenants(search));
  const items = list.data.pages.flatMap((page) => page.items);
  const isFiltered = Boolean(search.name || search.state);
  const show = (open: "create" | undefined) =>
    void navigate({ search: (now) => ({ ...now, open }), replace: true });
  const create = (kind?: "primary") => (
    <Button kind={kind} onClick={() => show("create")}>
      <Plus className="size-4" aria-hidden="true" />
      {t("tenants.create")}
    </Button>
  );
  const words: Record<TenantState, string> = {
    active: t("platform.tenantActive"),
    suspended: t("platform.tenantSuspended"),
    deleting: t("platform.tenantDeleting"),
  };
  const states = [undefined, "active", "suspended", "deleting"] as const;
  return (
    <>
      <PageHead title={t("tenants.title")} actions={create("primary")}>
        <Sentence />
      </PageHead>
      <FilterBar>
        <SearchField
          label={t("tenants.search")}
          value={search.name ?? ""}
          onChange={(name) =>
            void navigate({ search: (old) => ({ ...old, name: name || undefined }), replace: true })
          }
        />
        <FilterLinks
          label={t("platform.filterState")}
          links={states.map((state) => ({
            label: state ? words[state] : t("platform.all"),
            link: { to: "/admin/tenants", search: { name: search.name, state } },
            chosen: search.state === state,
          }))}
        />
      </FilterBar>
      <TenantTable
        items={items}
        isLoadingMore={list.isFetchingNextPage}
        onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
        empty={
          isFiltered ? (
            <Empty title={t("tenants.noneFound")}>{t("tenants.noneFoundHint")}</Empty>
          ) : (
            <Empty title={t("tenants.emptyTitle")} actions={create()}>
              {t("tenants.emptyHint")}
            </Empty>
          )
        }
      />
      <Suspense>
        {search.open === "create" && <CreateTenantDialog onClose={() => show(undefined)} />}
      </Suspense>
    </>
  );
}

/** All tenants in numbers, whatever the filter shows. */
function Sentence() {
  const { t } = useText();
  const { total } = useFormat();
  const all = useLoadedPages(tenants());
  const { data: usage } = useQuery(spending);
  const items = all.data.pages.flatMap((page) => page.items);
  const count = (state: TenantState) => items.filter((it) => it.state === state).length;
  const spent = usage && totalsOf(usage.items);
  const parts = [
    t("tenants.active", { count: count("active") }),
    ...(count("suspended") > 0 ? [t("tenants.suspended", { count: count("suspended") })] : []),
    ...(count("deleting") > 0 ? [t("tenants.deleting", { count: count("deleting") })] : []),
  ].join(t("platform.comma"));
  const whole = all.hasNextPage
    ? t("tenants.moreThan", { count: items.length })
    : t("tenants.summary", { count: items.length, parts });
  return spent && spent.size > 0 ? t("tenants.summarySpent", { whole, spent: total(spent) }) : whole;
}
