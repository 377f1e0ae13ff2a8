import { useText } from "@/i18n";
import type { Form } from "@/lib/form";
import { Checkbox, TextField } from "@/ui/field";
import { Panel } from "@/ui/page";
import { SelectField } from "@/ui/select";
import { useTenantChoices } from "../parts/names";
import { applicationNames, type Draft } from "./draft";

/** Which jobs its workers run. */
export function ApplicationFields({ form }: { form: Form<Draft> }) {
  const { t } = useText();
  const { applications } = form.values;
  const hints = {
    "stable-diffusion": t("pools.stableDiffusionHint"),
    dreambooth: t("pools.dreamboothHint"),
    command: t("pools.commandHint"),
  };
  return (
    <Panel className="p-4">
      <fieldset className="grid gap-3 md:grid-cols-3">
        <legend className="sr-only">{t("pools.applications")}</legend>
        {applicationNames.map((name) => (
          <Checkbox
            key={name}
            name="applications"
            label={<span className="font-mono text-xs">{name}</span>}
            hint={hints[name]}
            checked={applications.includes(name)}
            onChange={({ target }) =>
              form.set(
                "applications",
                target.checked ? [...applications, name] : applications.filter((it) => it !== name),
              )
            }
          />
        ))}
      </fieldset>
      {form.errors.applications && (
        <p role="alert" className="mt-3 text-vermilion text-xs">
          {form.errors.applications}
        </p>
      )}
    </Panel>
  );
}

/** What jobs call it, who pays for the workers that the platform runs, and for whom it runs jobs. */
export function NameFields({ form }: { form: Form<Draft> }) {
  const { t } = useText();
  const choices = useTenantChoices();
  return (
    <Panel className="grid gap-4 p-4 md:grid-cols-2">
      <TextField
        {...form.text("name")}
        label={t("platform.name")}
        hint={t("pools.nameHint")}
        placeholder="generation"
        autoComplete="off"
        spellCheck={false}
      />
      <SelectField
        name="tenant_id"
        label={t("pools.paidBy")}
        hint={t("pools.tenantHint")}
        error={form.errors.tenant_id}
        value={form.values.tenant_id}
        onChange={(tenant) => form.set("tenant_id", tenant)}
        choices={[{ value: "", label: t("pools.noTenant") }, ...choices]}
      />
      <div className="md:col-start-2">
        <Checkbox
          label={t("pools.dedicated")}
          hint={t("pools.dedicatedHint")}
          checked={form.values.dedicated}
          onChange={({ target }) => form.set("dedicated", target.checked)}
        />
      </div>
    </Panel>
  );
}
