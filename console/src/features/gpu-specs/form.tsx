import type { ReactNode } from "react";
import { useText } from "@/i18n";
import type { Form } from "@/lib/form";
import { Checkbox, TextField } from "@/ui/field";
import { Panel, Section } from "@/ui/page";
import { AllocationFields } from "./allocation-fields";
import type { Draft } from "./draft";

export const fieldsBox = "grid gap-4 p-4 md:grid-cols-2";

/** All fields; those of the unit's shape are left out while there are units. */
export function SpecFields({ form, locked }: { form: Form<Draft>; locked: ReactNode }) {
  const { t } = useText();
  const gb = <span className="text-ink-3">GiB</span>;
  const plain = { autoComplete: "off", spellCheck: false } as const;
  return (
    <>
      <Section title={t("catalogue.priceSection")} hint={t("catalogue.priceHint")}>
        <Panel className={fieldsBox}>
          <TextField
            {...form.text("price_per_hour")}
            {...plain}
            label={t("catalogue.price")}
            inputMode="decimal"
            after={<span className="text-ink-3">{t("stock.anHour")}</span>}
          />
          <TextField {...form.text("currency")} {...plain} label={t("catalogue.currency")} maxLength={3} />
          <div className="md:pt-6">
            <Checkbox
              label={t("catalogue.holds")}
              hint={t("catalogue.holdsHint")}
              checked={form.values.holds}
              onChange={(event) => form.set("holds", event.target.checked)}
            />
          </div>
          {form.values.holds && (
            <TextField
              {...form.text("hold_price_fraction")}
              {...plain}
              label={t("catalogue.hold")}
              inputMode="decimal"
              after={<span className="text-ink-3">%</span>}
            />
          )}
        </Panel>
      </Section>
      {locked || (
        <>
          <Section title={t("catalogue.unitSection")} hint={t("catalogue.unitHint")}>
            <Panel className={fieldsBox}>
              <TextField
                {...form.text("name")}
                {...plain}
                label={t("catalogue.name")}
                placeholder="4090-small-4-1"
                hint={t("catalogue.nameHint")}
              />
              <TextField
                {...form.text("gpu_model")}
                {...plain}
                label={t("catalogue.gpuModel")}
                placeholder="NVIDIA-GeForce-RTX-4090"
                hint={t("catalogue.modelHint")}
              />
              <TextField
                {...form.text("gpu_count")}
                {...plain}
                label={t("catalogue.gpuCount")}
                inputMode="numeric"
              />
              <TextField
                {...form.text("gpu_cores")}
                {...plain}
                label={t("catalogue.gpuCores")}
                inputMode="numeric"
                placeholder="16384"
              />
              <TextField
                {...form.text("video_memory_mib")}
                {...plain}
                label={t("catalogue.videoMemory")}
                inputMode="decimal"
                placeholder="24"
                after={gb}
              />
              <TextField
                {...form.text("cpu_millis")}
                {...plain}
                label={t("catalogue.cpu")}
                inputMode="decimal"
              />
              <TextField
                {...form.text("memory_mib")}
                {...plain}
                label={t("catalogue.memory")}
                inputMode="decimal"
                after={gb}
              />
              <TextField
                {...form.text("disk_gib")}
                {...plain}
                label={t("catalogue.disk")}
                inputMode="numeric"
                after={gb}
              />
            </Panel>
          </Section>
          <AllocationFields form={form} />
        </>
      )}
    </>
  );
}
