import type { ServiceImage } from "@/api/generated/types";
import { useText } from "@/i18n";
import { SelectField } from "@/ui/select";
import { type Draft, serviceNames, versionsOf } from "./order";
import type { StartForm } from "./use-start";

export function ServiceFields({ form, services }: { form: StartForm; services: readonly ServiceImage[] }) {
  const { t, language } = useText();
  const { values, errors } = form;
  const describe = (it: ServiceImage | undefined) => it?.descriptions[language] ?? it?.description;
  const versions = versionsOf(services, values.service);
  const image = versions.find((it) => it.version === values.version);
  const choose = (service: string) => {
    form.set("service", service);
    form.set("version", versionsOf(services, service)[0]?.version ?? "");
  };
  return (
    <div className="grid items-start gap-x-4 gap-y-3 sm:grid-cols-[minmax(0,1fr)_12rem]">
      <SelectField
        label={t("start.whatRuns")}
        value={values.service}
        onChange={choose}
        error={errors.service}
        hint={describe(image)}
        choices={serviceNames(services).map((value) => ({
          value,
          label: value,
          hint: describe(versionsOf(services, value)[0]),
        }))}
      />
      <SelectField
        label={t("start.version")}
        value={values.version as Draft["version"]}
        onChange={(version) => form.set("version", version)}
        error={errors.version}
        choices={versions.map((it) => ({
          value: it.version,
          label: it.recommended ? t("start.recommended", { version: it.version }) : it.version,
        }))}
      />
    </div>
  );
}
