import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { gpuSpecs } from "@/api/catalogue";
import type { Instance, InstanceMetrics, MeteredRun } from "@/api/generated/types";
import { metrics } from "@/api/instances/details";
import { type Range, ranges } from "@/api/instances/ranges";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Chart } from "@/ui/charts/chart";
import { timeAxis } from "@/ui/charts/time-axis";
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
        <Graphs it={it} data={data} />
      ) : (
        <div className="h-110" />
      )}
    </Section>
  );
}

function Graphs({ it, data }: { it: Instance; data: InstanceMetrics }) {
  const { t, language } = useText();
  const { span, list } = useFormat();
  const { data: specs } = useQuery(gpuSpecs);
  const [at, setAt] = useState<number | null>(null);
  const graphs = useGraphs(
    data,
    specs?.find((one) => one.id === it.gpu_spec.id),
  );
  const times = timesOf(data);
  const gaps = gapsOf(data);
  const across = timeAxis([Date.parse(data.from) / 1000, Date.parse(data.to) / 1000], language);
  const isEmpty = data.runs.length === 0;
  if (isEmpty) return <Panel className="p-4 text-ink-2 text-sm">{t("instance.noRunInRange")}</Panel>;
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
            group="instance"
            className="border-line max-md:border-b max-md:last:border-b-0 md:nth-[odd]:border-r md:nth-[n+3]:border-t"
          />
        ))}
      </Panel>
      {gaps.length > 0 && (
        <p className="num mt-2 text-ink-3 text-xs">
          {t("instance.gaps", {
            times: list(gaps.slice(-3).map((gap) => span(gap.from * 1000, gap.to * 1000))),
          })}
        </p>
      )}
    </>
  );
}
