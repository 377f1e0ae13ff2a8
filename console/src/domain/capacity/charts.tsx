import type { StockCapacity } from "@/api/generated/types";
import { useText } from "@/i18n";
import { Graphs } from "@/ui/charts/graphs";
import { Panel } from "@/ui/page";
import { gapsOf, timesOf, useCapacityGraphs } from "./graphs";

/** How many units there were over time, and when nothing was counted. */
export default function CapacityCharts({
  data,
  shown,
}: {
  data: StockCapacity;
  shown: readonly ("use" | "free")[];
}) {
  const { t } = useText();
  const graphs = useCapacityGraphs(data);
  if (data.points.every(({ units }) => !units))
    return <Panel className="p-4 text-ink-2 text-sm">{t("stock.neverCounted")}</Panel>;
  return (
    <Graphs
      graphs={shown.map((name) => graphs[name])}
      xs={timesOf(data)}
      from={data.from}
      to={data.to}
      gaps={gapsOf(data)}
      gapsText={(times) => t("stock.notCounted", { times })}
      group="capacity"
    />
  );
}
