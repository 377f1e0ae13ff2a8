import type { BaseModel, JobQuote } from "@/api/generated/types";
import { leastOf } from "@/domain/jobs/limit";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { TextField } from "@/ui/field";
import { Section } from "@/ui/page";
import { SelectField } from "@/ui/select";
import { DEFAULT_BASE } from "./order";
import type { TrainForm } from "./use-train";

/** What the pictures show, and how prompts name it. */
export function SubjectFields({ form }: { form: TrainForm }) {
  const { t } = useText();
  const theme = form.values["parameters.theme"].trim();
  const token = form.values["parameters.token"].trim();
  return (
    <Section title={t("training.subject")}>
      <div className="grid gap-4 md:grid-cols-3">
        <TextField
          {...form.text("parameters.theme")}
          label={t("training.theme")}
          hint={t("training.themeHint")}
          autoComplete="off"
        />
        <TextField
          {...form.text("parameters.token")}
          label={t("training.token")}
          hint={t("training.tokenHint", { token: token || "…", theme: theme || "…" })}
          autoComplete="off"
          spellCheck={false}
        />
        <TextField
          {...form.text("parameters.name")}
          label={t("training.modelName")}
          hint={theme ? t("training.nameHint", { theme }) : t("training.nameHintEmpty")}
          autoComplete="off"
        />
      </div>
    </Section>
  );
}

/** The base model, and how long it is trained. */
export function MethodFields({ form, bases }: { form: TrainForm; bases: readonly BaseModel[] }) {
  const { t } = useText();
  const names = [...new Set(bases.map((it) => it.name))];
  const hintOf = (name: string) => {
    const workers = bases.filter((it) => it.name === name).reduce((sum, it) => sum + it.workers, 0);
    return workers > 0 ? t("training.baseWorkers", { count: workers }) : t("training.baseNext");
  };
  return (
    <Section title={t("training.how")}>
      <div className="grid gap-4 md:grid-cols-[minmax(0,2fr)_minmax(0,1fr)_minmax(0,1fr)]">
        <SelectField
          label={t("training.base")}
          hint={t("training.baseHint")}
          error={form.errors["parameters.base_model"]}
          value={form.values["parameters.base_model"]}
          onChange={(next) => form.set("parameters.base_model", next)}
          choices={[
            ...names.map((value) => ({ value, label: value, hint: hintOf(value) })),
            { value: DEFAULT_BASE, label: t("training.baseDefault") },
          ]}
        />
        <TextField
          {...form.text("parameters.steps")}
          label={t("training.steps")}
          hint={t("training.stepsHint")}
          inputMode="numeric"
        />
        <TextField
          {...form.text("parameters.rank")}
          label={t("training.rank")}
          hint={t("training.rankHint")}
          inputMode="numeric"
        />
      </div>
    </Section>
  );
}

/** What it may cost. */
export function LimitField({ form, quote }: { form: TrainForm; quote: JobQuote | undefined }) {
  const { t } = useText();
  const { money } = useFormat();
  const cost = quote?.costs[0];
  const currency = cost?.currency ?? "USD";
  const refusal = form.errors["max_cost.amount"];
  const least = leastOf(refusal);
  return (
    <TextField
      {...form.text("max_cost.amount")}
      label={t("newJob.limit")}
      hint={
        cost ? t("training.limitHintUsual", { price: money(cost.p90, currency) }) : t("training.limitHint")
      }
      error={least ? t("newJob.limitBelow", { price: money(least, currency) }) : refusal}
      inputMode="decimal"
      autoComplete="off"
      after={<span className="text-ink-3">{currency}</span>}
      className="mt-4 max-w-96"
    />
  );
}
