import { services } from "@/api/catalogue";
import { useLoaded } from "@/api/query";
import { useText } from "@/i18n";
import type { Form } from "@/lib/form";
import { Checkbox } from "@/ui/field";
import { NumberField } from "@/ui/number-field";
import { Panel } from "@/ui/page";
import { SelectField } from "@/ui/select";
import type { Draft } from "./draft";
import { useFirmPrice } from "./facts";

/** Workers that the platform runs as instances of the pool's tenant. */
export function WorkerFields({ form }: { form: Form<Draft> }) {
  const { t } = useText();
  const { values } = form;
  return (
    <Panel className="space-y-4 p-4">
      <Checkbox
        name="workers"
        label={t("pools.runsWorkers")}
        hint={t("pools.runsWorkersHint")}
        checked={values.workers}
        onChange={({ target }) => form.set("workers", target.checked)}
      />
      {form.errors.workers && (
        <p role="alert" className="text-vermilion text-xs">
          {form.errors.workers}
        </p>
      )}
      {values.workers && (
        <>
          <ServiceFields form={form} />
          <CountFields form={form} />
        </>
      )}
    </Panel>
  );
}

function ServiceFields({ form }: { form: Form<Draft> }) {
  const { t, language } = useText();
  const { values, errors } = form;
  const offered = useLoaded(services).filter((it) => it.enabled && !it.deprecated);
  const [service, version] = [values["workers.service"], values["workers.version"]];
  const names = [...new Set([...offered.map((it) => it.service), service])].filter(Boolean);
  const versions = offered.filter((it) => it.service === service).map((it) => it.version);
  const describe = (name: string) => {
    const found = offered.find((it) => it.service === name);
    return found ? (found.descriptions[language] ?? found.description) : t("pools.notOffered");
  };
  return (
    <div className="grid gap-4 md:grid-cols-2">
      <SelectField
        name="workers.service"
        label={t("pools.service")}
        hint={service ? describe(service) : t("pools.serviceHint")}
        error={errors["workers.service"]}
        value={service}
        onChange={(next) => {
          form.set("workers.service", next);
          form.set("workers.version", "");
        }}
        choices={names.map((name) => ({ value: name, label: name, hint: describe(name) }))}
      />
      <SelectField
        name="workers.version"
        label={t("pools.version")}
        hint={t("pools.versionHint")}
        error={errors["workers.version"]}
        value={version}
        onChange={(next) => form.set("workers.version", next)}
        choices={[
          { value: "", label: t("pools.recommendedVersion") },
          ...[...new Set([...versions, version])].filter(Boolean).map((value) => ({ value, label: value })),
        ]}
      />
    </div>
  );
}

function CountFields({ form }: { form: Form<Draft> }) {
  const { t } = useText();
  const { values, errors } = form;
  const priceOf = useFirmPrice();
  const field = (name: "workers.min" | "workers.max" | "workers.lent_max") => ({
    name,
    value: values[name],
    error: errors[name],
    onChange: (value: string) => form.set(name, value),
  });
  const withPrice = (hint: string, name: "workers.min" | "workers.max") => {
    const price = priceOf(values, values[name]);
    return (
      <>
        {hint}
        {price && <span className="num block">{price}</span>}
      </>
    );
  };
  return (
    <div className="grid gap-4 sm:grid-cols-3">
      <NumberField
        {...field("workers.min")}
        label={t("pools.firmLeast")}
        hint={withPrice(t("pools.leastHint"), "workers.min")}
      />
      <NumberField
        {...field("workers.max")}
        label={t("pools.firmMost")}
        hint={withPrice(t("pools.mostHint"), "workers.max")}
      />
      <NumberField {...field("workers.lent_max")} label={t("pools.lentMost")} hint={t("pools.lentHint")} />
    </div>
  );
}
