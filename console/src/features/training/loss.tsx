import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Artifact, JobId } from "@/api/generated/types";
import { artifactText } from "@/api/jobs/artifact-text";
import { useText } from "@/i18n";
import { Chart } from "@/ui/charts/chart";
import type { Graph } from "@/ui/charts/graph";
import { ErrorLine } from "@/ui/error";
import { Panel } from "@/ui/page";
import { type Losses, parseLosses, roundUp, smoothed } from "./losses";

/** Lines are smoothed over this part of the steps. */
const PART = 1 / 25;

/** The losses that a training has left, by step. */
export default function LossChart({ id, file }: { id: JobId; file: Artifact }) {
  const { data, error } = useQuery(artifactText(id, file.id));
  if (error) return <ErrorLine error={error} />;
  if (!data) return <Panel className="h-73">{null}</Panel>;
  return <Lines losses={parseLosses(data)} />;
}

function Lines({ losses: { steps, values } }: { losses: Losses }) {
  const { t, language } = useText();
  const [at, setAt] = useState<number | null>(null);
  const write = (value: number) => value.toFixed(3);
  const onAxis = (value: number) => String(Number(value.toPrecision(3)));
  const line = smoothed(values, Math.max(2, Math.round(values.length * PART)));
  const last = steps.at(-1) ?? 1;
  const here = steps[at ?? steps.length - 1];
  const graph: Graph = {
    title: here === undefined ? t("training.loss") : t("training.lossAt", { step: here }),
    lines: [
      { label: t("training.lossSingle"), named: true, faint: true, values, side: "left", write },
      { label: t("training.lossSmoothed"), named: true, values: line, side: "left", write },
    ],
    left: { min: 0, max: roundUp(Math.max(0, ...line) * 1.15), write: onAxis, short: onAxis },
    right: null,
    missing: values.length === 0 ? t("training.lossEmpty") : null,
  };
  return (
    <Panel>
      <Chart
        graph={graph}
        xs={steps}
        across={{
          window: [1, last],
          isTime: false,
          write: (marks) => marks.map((mark) => mark.toLocaleString(language)),
          space: 70,
        }}
        at={at}
        onPoint={setAt}
        group="loss"
        height={232}
      />
    </Panel>
  );
}
