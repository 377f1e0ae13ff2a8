import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { stock } from "@/api/catalogue";
import { useLoaded } from "@/api/query";
import { datacenter } from "@/api/stock";
import { labelsText } from "@/domain/catalogue/labels";
import { totalsOf } from "@/domain/catalogue/stock";
import { StockSection } from "@/domain/catalogue/stock-section";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { Fact, Facts } from "@/ui/facts";
import { Id } from "@/ui/id";
import { PageHead } from "@/ui/page";
import { DrainButton } from "./drain";
import { DatacenterMenu } from "./menu";
import { DatacenterMark } from "./page";
import { Standing } from "./standing";

const Capacity = lazy(() => import("./capacity"));
const EditDialog = lazy(() => import("./edit"));

const route = getRouteApi("/_app/admin/datacenters/$id");

export function DatacenterPage() {
  const { t } = useText();
  const { day } = useFormat();
  const { id } = route.useParams();
  const { open } = route.useSearch();
  const navigate = route.useNavigate();
  const place = useLoaded(datacenter(id));
  const rows = useLoaded(stock).filter((row) => row.datacenter.id === id);
  const total = totalsOf(rows);
  const show = (dialog: "edit" | undefined) =>
    void navigate({ search: (old) => ({ ...old, open: dialog }), replace: true });
  const labels = labelsText(place.labels).replaceAll("\n", ", ");
  return (
    <>
      <PageHead
        title={place.name}
        up={{ label: t("catalogue.datacentersTitle"), link: { to: "/admin/datacenters" } }}
        mark={<DatacenterMark place={place} />}
        actions={
          <>
            <Button onClick={() => show("edit")}>{t("catalogue.change")}</Button>
            <DrainButton place={place} total={total} />
            <DatacenterMenu place={place} units={total.total} />
          </>
        }
      >
        {place.state === "draining"
          ? t("catalogue.drainingSentence", { used: total.used, free: total.available + total.inactive })
          : total.total > 0
            ? t("catalogue.specSentence", {
                available: total.available,
                total: total.total,
                used: total.used,
              })
            : t("catalogue.datacenterNoUnits")}
      </PageHead>
      <Facts>
        <Fact label={t("catalogue.region")}>{place.region}</Fact>
        <Fact label={t("catalogue.cluster")}>
          <span className="font-mono text-xs leading-5">{place.cluster}</span>
        </Fact>
        {labels && <Fact label={t("catalogue.labels")}>{labels}</Fact>}
        <Fact label={t("catalogue.createdAt")}>{day(place.created_at)}</Fact>
        <Fact label={t("catalogue.id")}>
          <Id id={place.id} label={t("catalogue.copyId")} />
        </Fact>
      </Facts>
      <Standing place={place} />
      <StockSection
        rows={rows}
        name={(row) => <span className="font-mono text-xs">{row.gpu_spec.name}</span>}
        datacenter={place.name}
        none={t("catalogue.datacenterNoUnits")}
      />
      <Suspense fallback={<div className="h-60" />}>
        <Capacity datacenter={place.name} rows={rows} />
      </Suspense>
      <Suspense>
        {open === "edit" && (
          <EditDialog key={place.id} id={id} units={total.total} onClose={() => show(undefined)} />
        )}
      </Suspense>
    </>
  );
}
