import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { StockRow } from "@/api/generated/types";
import { stockCapacity } from "@/api/stock";
import CapacityCharts from "@/domain/capacity/charts";
import { soldOutOf } from "@/domain/capacity/graphs";
import { PeriodChoice } from "@/domain/capacity/period-choice";
import { useText } from "@/i18n";
import { ErrorLine } from "@/ui/error";
import { Section } from "@/ui/page";
import { Select } from "@/ui/select";

const route = getRouteApi("/_app/admin/datacenters/$id");

/** How many units the datacenter had over time, of one specification or all. */
export default function Capacity({ datacenter, rows }: { datacenter: string; rows: readonly StockRow[] }) {
  const { t } = useText();
  const navigate = route.useNavigate();
  const { period = "day", gpu_spec } = route.useSearch();
  const { data, error } = useQuery({
    ...stockCapacity({ datacenter, ...(gpu_spec && { gpu_spec }) }, period),
    placeholderData: keepPreviousData,
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
          <PeriodChoice value={period} onChange={(next) => set({ period: next })} />
        </div>
      }
    >
      {error ? (
        <ErrorLine error={error} />
      ) : data ? (
        <CapacityCharts data={data} shown={["use", "free"]} />
      ) : (
        <div className="h-47" />
      )}
    </Section>
  );
}
