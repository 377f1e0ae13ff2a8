import { getRouteApi, Outlet } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import type { InstanceState, PlatformInstance } from "@/api/generated/types";
import { useLoadedPages } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { ratesOf } from "@/lib/money";
import { FilterBar, FilterLinks } from "@/ui/filter-links";
import { Empty, PageHead, TabLinks } from "@/ui/page";
import { SearchField } from "@/ui/search-field";
import { FindFooter } from "../parts/find-footer";
import { InstanceRows } from "../parts/instance-rows";
import { TenantFilter } from "../parts/tenant-filter";
import { type InstanceAct, InstanceActDialog, InstanceActMenu } from "./act";
import { matches } from "./find";
import { instances } from "./queries";

const route = getRouteApi("/_app/admin/instances/_list/");

/** Around the list and the sessions over SSH. */
export function InstancesLayout() {
  const { t } = useText();
  return (
    <>
      <PageHead title={t("nav.instances")}>
        <Sentence />
      </PageHead>
      <TabLinks
        label={t("fleet.parts")}
        tabs={[
          { label: t("nav.instances"), link: { to: "/admin/instances" } },
          { label: t("fleet.ssh"), link: { to: "/admin/instances/ssh" } },
        ]}
      />
      <Outlet />
    </>
  );
}

/** Of all that run, whatever the filter shows. */
function Sentence() {
  const { t } = useText();
  const { total } = useFormat();
  const list = useLoadedPages(instances({ state: "running" }));
  const running = list.data.pages.flatMap((page) => page.items);
  if (running.length === 0) return t("fleet.noneRun");
  const rate = total(ratesOf(running));
  return list.hasNextPage
    ? t("fleet.moreRun", { count: running.length, rate })
    : t("fleet.run", { count: running.length, rate });
}

export function InstancesPage() {
  const { t } = useText();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const list = useLoadedPages(instances(search));
  const read = list.data.pages.flatMap((page) => page.items);
  const find = search.find ?? "";
  const items = find ? read.filter((it) => matches(it, find)) : read;
  const [asked, setAsked] = useState<{ it: PlatformInstance; act: InstanceAct } | null>(null);
  const more = list.hasNextPage ? () => void list.fetchNextPage() : undefined;
  const words: Record<InstanceState, string> = {
    pending: t("instances.pending"),
    starting: t("instances.starting"),
    running: t("instances.running"),
    stopping: t("instances.stopping"),
    stopped: t("instances.stopped"),
    deleting: t("instances.deleting"),
  };
  const states = [undefined, "running", "pending", "starting", "stopped"] as const;
  return (
    <>
      <FilterBar>
        <SearchField
          label={t("fleet.search")}
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
          links={states.map((state) => ({
            label: state ? words[state] : t("platform.all"),
            link: { to: "/admin/instances", search: { ...search, state } },
            chosen: search.state === state,
          }))}
        />
      </FilterBar>
      <InstanceRows
        label={t("nav.instances")}
        items={items}
        withTenant
        onEnd={find ? undefined : more}
        menu={(it) => <InstanceActMenu it={it} onAct={(act) => setAsked({ it, act })} />}
        empty={
          <>
            <Empty title={t("fleet.noneFound")}>{t("fleet.noneFoundHint")}</Empty>
            {find && more && (
              <div className="border-line border-t px-4 py-2.5 text-sm">
                <FindFooter
                  found={0}
                  read={read.length}
                  isFinding
                  onMore={more}
                  isLoading={list.isFetchingNextPage}
                />
              </div>
            )}
          </>
        }
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
      <Suspense>{asked && <InstanceActDialog {...asked} onClose={() => setAsked(null)} />}</Suspense>
    </>
  );
}
