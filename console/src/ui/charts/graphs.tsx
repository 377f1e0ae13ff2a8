import { clsx } from "clsx";
import { useState } from "react";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Panel } from "../page";
import { Chart } from "./chart";
import type { Gap, Graph } from "./graph";
import { timeAxis } from "./time-axis";

/** So many gaps are told, the last ones. */
const TOLD = 3;

interface Props {
  graphs: readonly Graph[];
  /** The beginning of each step, in seconds since the epoch. */
  xs: number[];
  from: string;
  to: string;
  gaps: Gap[];
  /** Says when nothing is known, and why. */
  gapsText: (times: string) => string;
  /** Those of one group show the same moment. */
  group: string;
}

/** Charts over the same time in one sheet, and when nothing is known of it. */
export function Graphs({ graphs, xs, from, to, gaps, gapsText, group }: Props) {
  const { language } = useText();
  const { span, list } = useFormat();
  const [at, setAt] = useState<number | null>(null);
  const across = timeAxis([Date.parse(from) / 1000, Date.parse(to) / 1000], language);
  return (
    <>
      <Panel className={clsx("grid overflow-hidden", graphs.length > 1 && "md:grid-cols-2")}>
        {graphs.map((graph) => (
          <Chart
            key={graph.title}
            graph={graph}
            xs={xs}
            across={across}
            gaps={gaps}
            at={at}
            onPoint={setAt}
            group={group}
            className="border-line max-md:border-b max-md:last:border-b-0 md:odd:not-last:border-r md:nth-[n+3]:border-t"
          />
        ))}
      </Panel>
      {gaps.length > 0 && (
        <p className="num mt-2 text-ink-3 text-xs">
          {gapsText(list(gaps.slice(-TOLD).map((gap) => span(gap.from * 1000, gap.to * 1000))))}
        </p>
      )}
    </>
  );
}
