import { getRouteApi, Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense } from "react";
import { datacenters, stock } from "@/api/catalogue";
import type { Datacenter, StockRow } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { totalsOf } from "@/domain/catalogue/stock";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { Empty, PageHead } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { StockBar } from "@/ui/stock-bar";
import { type Column, Table } from "@/ui/table";
import { ClusterMark } from "./cluster-state";

const NewDialog = lazy(() => import("./new"));

const route = getRouteApi("/_app/admin/datacenters/");

export function DatacentersPage() {
  const { t } = useText();
  const places = useLoaded(datacenters);
  const rows = useLoaded(stock);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const show = (open: "new" | undefined) => void navigate({ search: { open }, replace: true });
  const total = totalsOf(rows);
  const draining = places.filter((it) => it.state === "draining").length;
  return (
    <>
      <PageHead
        title={t("catalogue.datacentersTitle")}
        actions={
          <Button kind="primary" onClick={() => show("new")}>
            <Plus className="size-4" aria-hidden="true" />
            {t("catalogue.newDatacenter")}
          </Button>
        }
      >
        {places.length > 0 &&
          t("catalogue.datacentersSentence", {
            datacenters: t("stock.datacenters", { count: places.length }),
            total: total.total,
            used: total.used,
            draining,
          })}
      </PageHead>
      <Datacenters places={places} rows={rows} />
      <Suspense>{search.open === "new" && <NewDialog onClose={() => show(undefined)} />}</Suspense>
    </>
  );
}

export function DatacenterMark({ place }: { place: Datacenter }) {
  const { t } = useText();
  return (
    <StateMark mark={place.state === "active" ? "runs" : "moves"}>
      {t(place.state === "active" ? "catalogue.inUse" : "stock.draining")}
    </StateMark>
  );
}

function Datacenters({ places, rows }: { places: readonly Datacenter[]; rows: readonly StockRow[] }) {
  const { t } = useText();
  const totalOf = (place: Datacenter) => totalsOf(rows.filter((row) => row.datacenter.id === place.id));
  const name = (place: Datacenter) => (
    <Link
      to="/admin/datacenters/$id"
      params={{ id: place.id }}
      className="block truncate font-medium text-sm hover:underline max-md:min-h-6"
    >
      {place.name}
    </Link>
  );
  const bar = (place: Datacenter) => {
    const total = totalOf(place);
    return total.total === 0 ? (
      <span className="text-ink-3 text-xs">{t("catalogue.noUnits")}</span>
    ) : (
      <StockBar counts={total} label={t("stock.bar", { ...total })} />
    );
  };
  const number = (of: "available" | "used" | "total") => (place: Datacenter) => (
    <span className="num text-sm">{totalOf(place)[of]}</span>
  );
  const columns: Column<Datacenter>[] = [
    { key: "name", label: t("stock.datacenter"), width: "minmax(4.5rem, 0.7fr)", cell: name },
    {
      key: "region",
      label: t("catalogue.region"),
      width: "minmax(5rem, 0.8fr)",
      cell: (place) => <span className="block truncate text-ink-2 text-sm">{place.region}</span>,
    },
    {
      key: "state",
      label: t("catalogue.state"),
      width: "6rem",
      cell: (place) => <DatacenterMark place={place} />,
    },
    {
      key: "cluster",
      label: t("catalogue.cluster"),
      width: "minmax(9rem, 1fr)",
      cell: (place) => <ClusterMark cluster={place.cluster} />,
    },
    { key: "stock", label: t("stock.stock"), width: "minmax(4rem, 10rem)", cell: bar },
    { key: "available", label: t("stock.available"), width: "3.5rem", end: true, cell: number("available") },
    { key: "used", label: t("stock.used"), width: "3rem", end: true, cell: number("used") },
    { key: "total", label: t("stock.total"), width: "3rem", end: true, cell: number("total") },
  ];
  return (
    <Table
      label={t("catalogue.datacentersTitle")}
      items={places}
      columns={columns}
      rowHeight={36}
      rowKey={(place) => place.id}
      empty={<Empty title={t("catalogue.noDatacenters")}>{t("catalogue.noDatacentersHint")}</Empty>}
      narrow={(place) => (
        <div className="space-y-2">
          <div className="flex items-start justify-between gap-3">
            <span className="min-w-0">
              {name(place)}
              <span className="block truncate text-ink-3 text-xs">{place.region}</span>
            </span>
            <DatacenterMark place={place} />
          </div>
          {bar(place)}
          <div className="flex items-center justify-between gap-3">
            <ClusterMark cluster={place.cluster} />
            <span className="num text-ink-2 text-xs">
              {t("catalogue.availableOf", { ...totalOf(place) })}
            </span>
          </div>
        </div>
      )}
    />
  );
}
