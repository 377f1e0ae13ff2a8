import { ChevronRight } from "lucide-react";
import { pools } from "@/api/jobs/queries";
import { useLoaded } from "@/api/query";
import { leastOf } from "@/domain/jobs/limit";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { TextField } from "@/ui/field";
import { SelectField } from "@/ui/select";
import { FinerFields } from "./picture-fields";
import type { OrderForm } from "./use-order";

/** What few need: steps, pool, limit. Open when one of it is not as usual. */
export default function More({ form, currency }: { form: OrderForm; currency: string }) {
  const { t } = useText();
  const { money } = useFormat();
  const usable = useLoaded(pools).filter((it) => it.applications.includes("stable-diffusion"));
  const { values } = form;
  const limit = form.error("max_cost.amount");
  const below = leastOf(limit);
  const isUnusual = Boolean(values.pool || values["max_cost.amount"]);
  return (
    <details open={isUnusual} className="group mt-6 rounded-lg border border-line bg-sheet">
      <summary className="flex cursor-pointer list-none items-center gap-2 px-4 py-3 text-sm -outline-offset-2">
        <ChevronRight
          className="size-4 text-ink-3 transition-transform group-open:rotate-90"
          aria-hidden="true"
        />
        <span className="font-medium">{t("newJob.finer")}</span>
        <span className="num ml-auto text-ink-3 text-xs">
          {t("newJob.finerHint", {
            steps: values["parameters.steps"],
            guidance: values["parameters.cfg_scale"],
          })}
        </span>
      </summary>
      <div className="space-y-4 border-line border-t px-4 py-4">
        <FinerFields form={form} />
        <div className="flex flex-wrap gap-4">
          <SelectField
            label={t("newJob.pool")}
            className="w-60"
            hint={values.pool ? undefined : t("newJob.anyPoolHint")}
            error={form.error("pool")}
            value={values.pool}
            choices={[
              { value: "", label: t("newJob.anyPool") },
              ...usable.map((it) => ({ value: it.name, label: it.name, hint: it.gpu_specs.join(", ") })),
            ]}
            onChange={(pool) => form.set("pool", pool)}
          />
          <TextField
            {...form.text("max_cost.amount")}
            label={t("newJob.limit")}
            hint={t("newJob.limitHint")}
            error={below ? t("newJob.limitBelow", { price: money(below, currency) }) : limit}
            inputMode="decimal"
            autoComplete="off"
            after={<span className="text-ink-3">{currency}</span>}
            className="w-60"
          />
        </div>
      </div>
    </details>
  );
}
