import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { StockCapacity, StockRow } from "@/api/generated/types";
import { capacityPeriodNames, stockCapacity } from "@/api/stock";
import { useText } from "@/i18n";
import { Graphs } from "@/ui/charts/graphs";
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
      {error ? <ErrorLine error={error} /> : data ? <Units data={data} /> : <div className="h-47" />}
    </Section>
  );
}

function Units({ data }: { data: StockCapacity }) {
  const { t } = useText();
  const graphs = useCapacityGraphs(data);
  if (data.points.every(({ units }) => !units))
    return <Panel className="p-4 text-ink-2 text-sm">{t("stock.neverCounted")}</Panel>;
  return (
    <Graphs
      graphs={graphs}
      xs={timesOf(data)}
      from={data.from}
      to={data.to}
      gaps={gapsOf(data)}
      gapsText={(times) => t("stock.notCounted", { times })}
      group="capacity"
    />
  );
}
