import { useLoaded } from "@/api/query";
import { everyGpuSpec } from "@/api/stock";
import { useText } from "@/i18n";
import type { Form } from "@/lib/form";
import { useFormat } from "@/lib/format";
import { parseAmount, times } from "@/lib/money";
import { TextField } from "@/ui/field";
import { Panel } from "@/ui/page";
import { isFactor } from "./check";
import { type Draft, levels } from "./draft";

/** What the price of a GPU is multiplied by, and what an hour of a job then costs. */
export function FactorFields({ form }: { form: Form<Draft> }) {
  const { t } = useText();
  const { money } = useFormat();
  const [first] = form.values.gpu_specs;
  const spec = useLoaded(everyGpuSpec).find((it) => it.name === first);
  const labels = {
    urgent: t("pools.urgentJobs"),
    ordinary: t("pools.ordinaryJobs"),
    background: t("pools.backgroundJobs"),
  };
  const hourly = (factor: string) =>
    spec && isFactor(factor)
      ? t("pools.anHourOf", {
          name: spec.name,
          price: money(times(parseAmount(spec.price_per_hour), factor), spec.currency),
        })
      : undefined;
  return (
    <Panel className="grid gap-4 p-4 sm:grid-cols-3">
      {levels.map((level) => (
        <TextField
          key={level}
          {...form.text(`level_factors.${level}`)}
          label={labels[level]}
          hint={hourly(form.values[`level_factors.${level}`])}
          before={<span className="text-ink-3">×</span>}
          inputMode="decimal"
          autoComplete="off"
        />
      ))}
    </Panel>
  );
}
