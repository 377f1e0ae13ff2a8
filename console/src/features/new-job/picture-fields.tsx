import { useText } from "@/i18n";
import { TextField } from "@/ui/field";
import { Segmented } from "@/ui/segmented";
import { TextArea } from "@/ui/text-area";
import { type Scale, type Shape, scales, shapeOf, shapes, sizeFor } from "./order";
import type { OrderForm } from "./use-order";

export function PromptFields({ form }: { form: OrderForm }) {
  const { t } = useText();
  return (
    <div className="space-y-4">
      <TextArea
        {...form.text("parameters.prompt")}
        label={t("newJob.prompt")}
        hint={t("newJob.promptHint")}
        placeholder={t("newJob.promptPlaceholder")}
        rows={3}
      />
      <TextArea
        {...form.text("parameters.negative_prompt")}
        label={t("newJob.negative")}
        hint={t("newJob.negativeHint")}
        rows={1}
        className="[&_textarea]:min-h-8"
      />
    </div>
  );
}

const CUSTOM = "";

/** Shape and scale set the size, which can be one's own; how many, and the seed. */
export function SizeFields({ form }: { form: OrderForm }) {
  const { t } = useText();
  const width = form.values["parameters.width"];
  const height = form.values["parameters.height"];
  const now = shapeOf(width, height);
  const choose = (shape: Shape, scale: Scale) => {
    const size = sizeFor(shape, scale);
    form.set("parameters.width", size.width);
    form.set("parameters.height", size.height);
  };
  const edge = { inputMode: "numeric", after: <span className="text-ink-3">{t("newJob.px")}</span> } as const;
  return (
    <div className="space-y-4">
      <div className="flex flex-wrap items-start gap-x-5 gap-y-3">
        <Choice label={t("newJob.shape")}>
          <Segmented<Shape | typeof CUSTOM>
            label={t("newJob.shape")}
            value={now?.shape ?? CUSTOM}
            choices={(Object.keys(shapes) as Shape[]).map((value) => ({
              value,
              label: t(`newJob.${value}`),
            }))}
            onChange={(shape) => shape && choose(shape, now?.scale ?? "medium")}
          />
        </Choice>
        <Choice label={t("newJob.scale")}>
          <Segmented<Scale | typeof CUSTOM>
            label={t("newJob.scale")}
            value={now?.scale ?? CUSTOM}
            choices={(Object.keys(scales) as Scale[]).map((value) => ({
              value,
              label: t(`newJob.${value}`),
            }))}
            onChange={(scale) => scale && choose(now?.shape ?? "square", scale)}
          />
        </Choice>
        <div className="flex items-start gap-2">
          <TextField
            {...form.text("parameters.width")}
            {...edge}
            label={t("newJob.width")}
            className="w-26"
          />
          <TextField
            {...form.text("parameters.height")}
            {...edge}
            label={t("newJob.height")}
            className="w-26"
          />
        </div>
      </div>
      <div className="flex flex-wrap items-start gap-x-5 gap-y-3">
        <Choice label={t("newJob.images")}>
          <Segmented
            label={t("newJob.images")}
            value={form.values["parameters.images"]}
            choices={["1", "2", "3", "4", "6", "8"].map((value) => ({ value, label: value }))}
            onChange={(value) => form.set("parameters.images", value)}
          />
        </Choice>
        <TextField
          {...form.text("parameters.seed")}
          label={t("newJob.seed")}
          hint={t("newJob.seedHint")}
          inputMode="numeric"
          autoComplete="off"
          className="min-w-52 max-w-96 flex-1"
        />
      </div>
    </div>
  );
}

function Choice({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <div className="min-w-0 max-w-full overflow-x-auto">
      <p aria-hidden="true" className="mb-1 font-medium text-sm">
        {label}
      </p>
      {children}
    </div>
  );
}

export function FinerFields({ form }: { form: OrderForm }) {
  const { t } = useText();
  return (
    <div className="flex flex-wrap gap-4">
      <TextField
        {...form.text("parameters.steps")}
        label={t("newJob.steps")}
        hint={t("newJob.stepsHint")}
        inputMode="numeric"
        className="w-60"
      />
      <TextField
        {...form.text("parameters.cfg_scale")}
        label={t("newJob.guidance")}
        hint={t("newJob.guidanceHint")}
        inputMode="decimal"
        className="w-60"
      />
    </div>
  );
}
