import { Plus, X } from "lucide-react";
import type { BaseModel, Model } from "@/api/generated/types";
import { useText } from "@/i18n";
import { Button, IconButton } from "@/ui/button";
import { TextField } from "@/ui/field";
import { SelectField } from "@/ui/select";
import { DEFAULT_MODEL } from "./order";
import type { OrderForm } from "./use-order";

/** Most adapters in one job. */
const MOST = 4;

/** The checkpoint, and what the studio has trained for it. */
export default function ModelFields({
  form,
  checkpoints,
  adapters,
}: {
  form: OrderForm;
  checkpoints: readonly BaseModel[];
  adapters: readonly Model[];
}) {
  const { t } = useText();
  const model = form.values["parameters.model"];
  const names = [
    ...new Set([...checkpoints.map((it) => it.name), ...(model === DEFAULT_MODEL ? [] : [model])]),
  ];
  const workersOf = (name: string) =>
    checkpoints.filter((it) => it.name === name).reduce((sum, it) => sum + it.workers, 0);
  const hintOf = (name: string) => {
    const count = workersOf(name);
    return count > 0 ? t("newJob.workersHave", { count }) : t("newJob.workersLoad");
  };
  const chosen = form.values["parameters.models"];
  const fitting = adapters.filter((it) => it.base_model === model);
  const left = fitting.filter((it) => !chosen.some(({ id }) => id === it.id));
  const change = (next: typeof chosen) => form.set("parameters.models", next);
  const whyNone =
    model === DEFAULT_MODEL
      ? t("newJob.noModelChosen")
      : fitting.length === 0
        ? t("newJob.noAdapters")
        : (chosen.length >= MOST || left.length === 0) && t("newJob.adaptersHint");
  return (
    <div className="space-y-4">
      <SelectField
        label={t("newJob.checkpoint")}
        className="max-w-96"
        value={model}
        error={form.error("parameters.model")}
        hint={model === DEFAULT_MODEL ? t("newJob.defaultModelHint") : hintOf(model)}
        choices={[
          {
            value: DEFAULT_MODEL,
            label: t("newJob.defaultModel"),
            hint: t("newJob.defaultModelHint"),
          },
          ...names.map((value) => ({ value, label: value, hint: hintOf(value) })),
        ]}
        onChange={(next) => {
          form.set("parameters.model", next);
          // an adapter fits one model only
          change([]);
        }}
      />
      <div>
        {chosen.map(({ id, weight }, i) => {
          const name = adapters.find((it) => it.id === id)?.name ?? id;
          const others = adapters.filter((it) => it.id === id || left.includes(it));
          return (
            <div key={id} className="mb-2 flex items-start gap-2">
              <SelectField
                label={t("newJob.adapter")}
                className="w-60 min-w-0 max-md:w-auto max-md:flex-1"
                value={id}
                choices={others.map((it) => ({ value: it.id as string, label: it.name }))}
                onChange={(next) => change(chosen.map((one, at) => (at === i ? { ...one, id: next } : one)))}
              />
              <TextField
                label={t("newJob.weight")}
                name={i === 0 ? "parameters.models" : undefined}
                className="w-24 shrink-0 max-md:w-20"
                inputMode="decimal"
                value={weight}
                error={form.error("parameters.models")}
                onChange={(event) =>
                  change(chosen.map((one, at) => (at === i ? { ...one, weight: event.target.value } : one)))
                }
              />
              <span className="pt-6.5">
                <IconButton
                  label={t("newJob.removeAdapter", { name })}
                  onClick={() => change(chosen.filter((one) => one.id !== id))}
                >
                  <X className="size-4" aria-hidden="true" />
                </IconButton>
              </span>
            </div>
          );
        })}
        <Button
          small
          disabled={whyNone}
          onClick={() => left[0] && change([...chosen, { id: left[0].id, weight: "0.8" }])}
        >
          <Plus className="size-4" aria-hidden="true" />
          {t("newJob.addAdapter")}
        </Button>
        <p className="mt-1.5 text-ink-3 text-xs">{whyNone || t("newJob.adaptersHint")}</p>
      </div>
    </div>
  );
}
