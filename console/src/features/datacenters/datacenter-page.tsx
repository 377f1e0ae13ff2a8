import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { stock } from "@/api/catalogue";
import type { StockRow } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { datacenter } from "@/api/stock";
import { labelsText } from "@/domain/catalogue/labels";
import { rowKey, totalsOf } from "@/domain/catalogue/stock";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { Fact, Facts } from "@/ui/facts";
import { Id } from "@/ui/id";
import { PageHead, Panel, Section } from "@/ui/page";
import { StockBar } from "@/ui/stock-bar";
import { DrainButton } from "./drain";
import { DatacenterMenu } from "./menu";
import { DatacenterMark } from "./page";
import { Standing } from "./standing";

const Capacity = lazy(() => import("./capacity/section"));
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
      <Section title={t("stock.title")}>
        <Panel>
          {rows.length === 0 && (
            <p className="px-3 py-3 text-ink-2 text-sm">{t("catalogue.datacenterNoUnits")}</p>
          )}
          <ul className="divide-y divide-line">
            {rows.map((row) => (
              <Entry key={row.gpu_spec.id} row={row} />
            ))}
          </ul>
        </Panel>
      </Section>
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

function Entry({ row }: { row: StockRow }) {
  const { t } = useText();
  return (
    <li className="num grid min-h-9 grid-cols-[minmax(0,12rem)_minmax(0,1fr)_4.5rem] items-center gap-x-4 px-3 py-1 text-sm">
      <Link
        to="/admin/stock"
        search={{ datacenter: row.datacenter.name, edit: rowKey(row) }}
        className="truncate font-mono text-ultra text-xs hover:underline"
      >
        {row.gpu_spec.name}
      </Link>
      <StockBar counts={row} label={t("stock.bar", { ...row })} />
      <span className="text-right text-ink-2 text-xs">
        {t("catalogue.availableOf", { available: row.available, total: row.total })}
      </span>
    </li>
  );
}
