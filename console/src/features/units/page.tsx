import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { datacenters, stock } from "@/api/catalogue";
import type { UnitState } from "@/api/generated/types";
import { useLoaded, useLoadedPages } from "@/api/query";
import { everyGpuSpec, stockUnits } from "@/api/stock";
import { totalsOf } from "@/domain/catalogue/stock";
import { useUnitWords } from "@/domain/catalogue/unit-state";
import { unitStates } from "@/domain/catalogue/unit-states";
import { useText } from "@/i18n";
import { Empty, PageHead } from "@/ui/page";
import { Select } from "@/ui/select";
import { UnitTable } from "./unit-table";

const route = getRouteApi("/_app/admin/units/");

export function UnitsPage() {
  const { t } = useText();
  const filter = route.useSearch();
  const list = useLoadedPages(stockUnits(filter));
  const total = totalsOf(useLoaded(stock));
  const items = list.data.pages.flatMap((page) => page.items);
  const isFiltered = Boolean(filter.gpu_spec || filter.datacenter || filter.state);
  return (
    <>
      <PageHead title={t("stock.unitsTitle")}>
        {total.total > 0 &&
          t("stock.unitsSentence", {
            total: total.total,
            used: total.used,
            available: total.available,
            inactive: total.inactive,
          })}
      </PageHead>
      <UnitFilter />
      <UnitTable
        items={items}
        onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
        empty={
          isFiltered ? (
            <Empty title={t("stock.noUnitsFound")}>{t("stock.noUnitsFoundHint")}</Empty>
          ) : (
            <Empty title={t("stock.emptyTitle")}>{t("stock.emptyHint")}</Empty>
          )
        }
      />
    </>
  );
}

function UnitFilter() {
  const { t } = useText();
  const words = useUnitWords();
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const { data: specs = [] } = useQuery(everyGpuSpec);
  const { data: places = [] } = useQuery(datacenters);
  const set = (next: { gpu_spec?: string; datacenter?: string; state?: UnitState | "" }) => {
    const { gpu_spec, datacenter, state } = { ...filter, ...next };
    void navigate({
      search: { ...(gpu_spec && { gpu_spec }), ...(datacenter && { datacenter }), ...(state && { state }) },
      replace: true,
    });
  };
  return (
    <div className="mb-3 grid grid-cols-[13rem_11rem_11rem] gap-2 max-md:grid-cols-1">
      <Select
        label={t("stock.spec")}
        value={filter.gpu_spec ?? ""}
        onChange={(gpu_spec) => set({ gpu_spec })}
        choices={[
          { value: "", label: t("stock.allSpecs") },
          ...specs.map(({ name }) => ({ value: name, label: name })),
        ]}
      />
      <Select
        label={t("stock.datacenter")}
        value={filter.datacenter ?? ""}
        onChange={(datacenter) => set({ datacenter })}
        choices={[
          { value: "", label: t("stock.allDatacenters") },
          ...places.map(({ name }) => ({ value: name, label: name })),
        ]}
      />
      <Select<UnitState | "">
        label={t("stock.state")}
        value={filter.state ?? ""}
        onChange={(state) => set({ state })}
        choices={[
          { value: "", label: t("stock.allStates") },
          ...unitStates.map((value) => ({ value, label: words.state(value) })),
        ]}
      />
    </div>
  );
}
