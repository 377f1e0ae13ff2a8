import type { Allocation } from "@/api/generated/types";
import { useText } from "@/i18n";
import type { Form } from "@/lib/form";
import { TextAreaField, TextField } from "@/ui/field";
import { Panel, Section } from "@/ui/page";
import { SelectField } from "@/ui/select";
import { allocationKinds, type Draft, usualResource } from "./draft";
import { kindWord } from "./facts";

/** How the cluster gives the GPUs: each kind has fields of its own. */
export function AllocationFields({ form }: { form: Form<Draft> }) {
  const { t } = useText();
  const { kind } = form.values;
  const hints: Record<Allocation["kind"], string> = {
    device: t("catalogue.kindDeviceHint"),
    mig: t("catalogue.kindMigHint"),
    time_slice: t("catalogue.kindTimeSliceHint"),
    hami: t("catalogue.kindHamiHint"),
    dra: t("catalogue.kindDraHint"),
  };
  const choose = (next: Allocation["kind"]) => {
    const usual: string[] = Object.values(usualResource);
    // what was typed stays; what the form proposed follows the kind
    if (next in usualResource && usual.includes(form.values["allocation.resource"]))
      form.set("allocation.resource", usualResource[next as keyof typeof usualResource]);
    form.set("kind", next);
  };
  const plain = { autoComplete: "off", spellCheck: false, className: "[&_input]:font-mono" } as const;
  return (
    <Section title={t("catalogue.allocationSection")} hint={t("catalogue.allocationHint")}>
      <Panel className="grid gap-4 p-4 md:grid-cols-2">
        <SelectField
          label={t("catalogue.allocation")}
          hint={hints[kind]}
          value={kind}
          onChange={choose}
          choices={allocationKinds.map((value) => ({ value, label: kindWord(value, t), hint: hints[value] }))}
        />
        {(kind === "device" || kind === "mig" || kind === "time_slice") && (
          <TextField
            {...form.text("allocation.resource")}
            {...plain}
            label={t("catalogue.resource")}
            hint={t("catalogue.resourceHint")}
          />
        )}
        {kind === "hami" && (
          <div className="grid grid-cols-2 gap-4">
            <TextField
              {...form.text("allocation.memory_mib")}
              label={t("catalogue.hamiMemory")}
              inputMode="decimal"
              after={<span className="text-ink-3">GiB</span>}
            />
            <TextField
              {...form.text("allocation.cores")}
              label={t("catalogue.hamiCores")}
              inputMode="numeric"
              after={<span className="text-ink-3">%</span>}
            />
          </div>
        )}
        {kind === "dra" && (
          <>
            <TextField
              {...form.text("allocation.device_class")}
              {...plain}
              label={t("catalogue.deviceClass")}
              hint={t("catalogue.deviceClassHint")}
            />
            <TextAreaField
              className="md:col-span-2 [&_textarea]:font-mono"
              name="allocation.selectors"
              label={t("catalogue.selectors")}
              hint={t("catalogue.selectorsHint")}
              value={form.values["allocation.selectors"]}
              error={form.errors["allocation.selectors"]}
              onChange={(event) => form.set("allocation.selectors", event.target.value)}
              spellCheck={false}
            />
          </>
        )}
        <TextAreaField
          className="md:col-span-2 [&_textarea]:font-mono"
          name="node_selector"
          label={t("catalogue.nodeSelector")}
          hint={t("catalogue.nodeSelectorHint")}
          value={form.values.node_selector}
          error={form.errors.node_selector}
          onChange={(event) => form.set("node_selector", event.target.value)}
          placeholder="gpu.vendor.example/rack=a4"
          spellCheck={false}
          rows={2}
        />
      </Panel>
    </Section>
  );
}
