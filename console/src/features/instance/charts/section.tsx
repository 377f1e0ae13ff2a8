import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { gpuSpecs } from "@/api/catalogue";
import type { Instance, InstanceMetrics, MeteredRun } from "@/api/generated/types";
import { metrics } from "@/api/instances/details";
import { type Range, ranges } from "@/api/instances/ranges";
import { useText } from "@/i18n";
import { Graphs } from "@/ui/charts/graphs";
import { ErrorLine } from "@/ui/error";
import { Panel, Section } from "@/ui/page";
import { Segmented } from "@/ui/segmented";
import { gapsOf, timesOf } from "../series";
import { useGraphs } from "./graphs";

const SOON = 15_000;
const LATER = 60_000;

/** What it used, over time. */
export default function Use({
  it,
  runs,
  range,
}: {
  it: Instance;
  runs: readonly MeteredRun[] | undefined;
  range: Range;
}) {
  const { t } = useText();
  const navigate = useNavigate();
  const last = runs?.find((run) => run.kind === "running");
  const run = it.started_at
    ? { from: it.started_at, to: null }
    : last
      ? { from: last.started_at, to: last.ended_at }
      : null;
  const isLive = it.state === "running";
  const { data, error } = useQuery({
    ...metrics(it.id, range, run),
    placeholderData: keepPreviousData,
    refetchInterval: isLive ? (range === "1h" || range === "run" ? SOON : LATER) : false,
  });
  return (
    <Section
      title={t("instance.use")}
      actions={
        <Segmented
          label={t("instance.range")}
          value={range}
          choices={ranges.map((value) => ({ value, label: t(`instance.range_${value}`) }))}
          onChange={(next) =>
            void navigate({
              to: "/instances/$id",
              params: { id: it.id },
              search: { range: next },
              replace: true,
              resetScroll: false,
            })
          }
        />
      }
    >
      {error ? (
        <ErrorLine error={error} />
      ) : data ? (
        <Metrics it={it} data={data} />
      ) : (
        <div className="h-110" />
      )}
    </Section>
  );
}

function Metrics({ it, data }: { it: Instance; data: InstanceMetrics }) {
  const { t } = useText();
  const { data: specs } = useQuery(gpuSpecs);
  const graphs = useGraphs(
    data,
    specs?.find((one) => one.id === it.gpu_spec.id),
  );
  if (data.runs.length === 0)
    return <Panel className="p-4 text-ink-2 text-sm">{t("instance.noRunInRange")}</Panel>;
  return (
    <Graphs
      graphs={graphs}
      xs={timesOf(data)}
      from={data.from}
      to={data.to}
      gaps={gapsOf(data)}
      gapsText={(times) => t("instance.gaps", { times })}
      group="instance"
    />
  );
}
