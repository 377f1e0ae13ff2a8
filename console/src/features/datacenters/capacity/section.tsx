import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import type { StockCapacity, StockRow } from "@/api/generated/types";
import { capacityPeriodNames, stockCapacity } from "@/api/stock";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Chart } from "@/ui/charts/chart";
import { timeAxis } from "@/ui/charts/time-axis";
import { ErrorLine } from "@/ui/error";
import { Panel, Section } from "@/ui/page";
import { Segmented } from "@/ui/segmented";
import { Select } from "@/ui/select";
import { gapsOf, soldOutOf, timesOf, useCapacityGraphs } from "./graphs";

const route = getRouteApi("/_app/admin/datacenters/$id");

/** Units are counted every minute. */
const MINUTE = 60_000;

/** How many units the datacenter had over time, of one specification or all. */
export default function Capacity({ datacenter, rows }: { datacenter: string; rows: readonly StockRow[] }) {
  const { t } = useText();
  const navigate = route.useNavigate();
  const { period = "day", gpu_spec } = route.useSearch();
  const { data, error } = useQuery({
    ...stockCapacity({ datacenter, ...(gpu_spec && { gpu_spec }) }, period),
    placeholderData: keepPreviousData,
    refetchInterval: period === "day" ? MINUTE : false,
  });
  const set = (next: { period?: typeof period; gpu_spec?: string | undefined }) =>
    void navigate({ search: (old) => ({ ...old, ...next }), replace: true, resetScroll: false });
  const sold = data && soldOutOf(data);
  return (
    <Section
      title={t("stock.capacity")}
      hint={
        data &&
        sold &&
        sold.counted > 0 &&
        (sold.soldOut === 0
          ? t("stock.neverSoldOut")
          : t(data.step === "hour" ? "stock.soldOutHours" : "stock.soldOutDays", {
              soldOut: sold.soldOut,
              count: sold.counted,
            }))
      }
      actions={
        <div className="flex flex-wrap items-center gap-2 max-md:w-full">
          <span className="w-48 max-md:w-full">
            <Select
              small
              label={t("stock.spec")}
              value={gpu_spec ?? ""}
              onChange={(spec) => set({ gpu_spec: spec || undefined })}
              choices={[
                { value: "", label: t("stock.allSpecs") },
                ...rows.map((row) => ({ value: row.gpu_spec.name, label: row.gpu_spec.name })),
              ]}
            />
          </span>
          <Segmented
            label={t("stock.period")}
            value={period}
            choices={capacityPeriodNames.map((value) => ({ value, label: t(`stock.period_${value}`) }))}
            onChange={(next) => set({ period: next })}
          />
        </div>
      }
    >
      {error ? <ErrorLine error={error} /> : data ? <Graphs data={data} /> : <div className="h-47" />}
    </Section>
  );
}

function Graphs({ data }: { data: StockCapacity }) {
  const { t, language } = useText();
  const { span, list } = useFormat();
  const [at, setAt] = useState<number | null>(null);
  const graphs = useCapacityGraphs(data);
  const times = timesOf(data);
  const gaps = gapsOf(data);
  const across = timeAxis([Date.parse(data.from) / 1000, Date.parse(data.to) / 1000], language);
  if (data.points.every(({ units }) => !units))
    return <Panel className="p-4 text-ink-2 text-sm">{t("stock.neverCounted")}</Panel>;
  return (
    <>
      <Panel className="grid overflow-hidden md:grid-cols-2">
        {graphs.map((graph) => (
          <Chart
            key={graph.title}
            graph={graph}
            xs={times}
            across={across}
            gaps={gaps}
            at={at}
            onPoint={setAt}
            group="capacity"
            className="border-line max-md:first:border-b md:first:border-r"
          />
        ))}
      </Panel>
      {gaps.length > 0 && (
        <p className="num mt-2 text-ink-3 text-xs">
          {t("stock.notCounted", {
            times: list(gaps.slice(-3).map((gap) => span(gap.from * 1000, gap.to * 1000))),
          })}
        </p>
      )}
    </>
  );
}
