import { useQuery } from "@tanstack/react-query";
import { gpuSpecs } from "@/api/catalogue";
import { asCurl, call } from "@/api/client";
import { putPlatformQuota } from "@/api/generated/operations";
import type { Limits, Tenant } from "@/api/generated/types";
import { useAct, useLoaded } from "@/api/query";
import { gpuTitle } from "@/domain/instances/gpu";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { useFormat } from "@/lib/format";
import { Checkbox, TextField } from "@/ui/field";
import { notify } from "@/ui/toast";
import { inUseOf, isBelow, numberOf } from "./in-use";
import { BelowHint, LimitForm } from "./limit-form";
import { quota, tenantInstances } from "./queries";

const CURRENCY = "USD";

interface Values {
  instances: string;
  gpus: string;
  cost: string;
  models: Record<string, string>;
  ownImages: boolean;
  reason: string;
}

const textOf = (limit: number | null | undefined) => String(limit ?? "");

function bodyOf({ instances, gpus, cost, models, ownImages }: Values, kept: Limits | undefined): Limits {
  const { [CURRENCY]: _, ...otherCosts } = kept?.cost_per_hour ?? {};
  const byModel = Object.entries(models).flatMap(([model, text]) => {
    const limit = numberOf(text);
    return typeof limit === "number" ? [[model, limit] as const] : [];
  });
  return {
    instances: numberOf(instances) ?? null,
    gpus: numberOf(gpus) ?? null,
    gpus_by_model: Object.fromEntries(byModel),
    cost_per_hour: { ...otherCosts, ...(cost.trim() && { [CURRENCY]: cost.trim() }) },
    own_images: ownImages,
  };
}

export default function QuotaDialog({ it, onClose }: { it: Tenant; onClose: () => void }) {
  const { t } = useText();
  const { total } = useFormat();
  const set = useLoaded(quota(it.id));
  const { data: specs = [] } = useQuery(gpuSpecs);
  const { data: instances } = useQuery(tenantInstances(it.id));
  const use = instances && inUseOf(instances, specs);
  const limits = set?.limits;
  const requestOf = (values: Values) => ({
    path: { tenant_id: it.id },
    query: { reason: values.reason.trim() },
    ...(set === null && { headers: { "If-Match": "*" } }),
    body: bodyOf(values, limits),
  });
  const put = useAct((values: Values, key) => call(putPlatformQuota, requestOf(values), { key }), {
    touches: [["platform", "quotas"]],
    onDone: () => {
      onClose();
      notify({ title: t("tenants.limitsSaved", { name: it.name }) });
    },
  });
  const models = [
    ...new Set([...specs.map((one) => one.gpu_model), ...Object.keys(limits?.gpus_by_model ?? {})]),
  ];
  const isCount = (text: string) => (numberOf(text) === undefined ? t("tenants.notANumber") : undefined);
  const form = useForm<Values>({
    initial: {
      instances: textOf(limits?.instances),
      gpus: textOf(limits?.gpus),
      cost: limits?.cost_per_hour?.[CURRENCY] ?? "",
      models: Object.fromEntries(models.map((one) => [one, textOf(limits?.gpus_by_model?.[one])])),
      ownImages: limits?.own_images ?? false,
      reason: "",
    },
    check: (values) => ({
      instances: isCount(values.instances),
      gpus: isCount(values.gpus),
      cost:
        values.cost.trim() === "" || /^\d+(\.\d{1,6})?$/.test(values.cost.trim())
          ? undefined
          : t("tenants.notAnAmount"),
      models: Object.values(values.models).some((text) => numberOf(text) === undefined)
        ? t("tenants.notANumber")
        : undefined,
      reason: values.reason.trim() ? undefined : t("platform.reasonMissing"),
    }),
    send: put.run,
    error: put.error,
  });
  const { values } = form;
  const hint = (text: string, used: number | null | undefined) =>
    used === undefined || used === null ? (
      t("tenants.usedUnknownShort")
    ) : isBelow(text, used) ? (
      <BelowHint is>{t("tenants.belowUse", { used })}</BelowHint>
    ) : (
      t("tenants.inUse", { used })
    );
  return (
    <LimitForm
      title={t("tenants.quotaOf", { name: it.name })}
      form={form}
      busy={put.busy}
      error={put.error}
      curl={asCurl(putPlatformQuota, requestOf(values))}
      onClose={onClose}
    >
      <p className="text-ink-2 text-sm">{t("tenants.quotaHint")}</p>
      <div className="grid grid-cols-2 gap-4">
        <TextField
          {...form.text("instances")}
          label={t("tenants.limitInstances")}
          hint={hint(values.instances, use?.instances)}
          inputMode="numeric"
        />
        <TextField
          {...form.text("gpus")}
          label={t("tenants.limitGpus")}
          hint={hint(values.gpus, use?.gpus)}
          inputMode="numeric"
        />
        <TextField
          {...form.text("cost")}
          label={t("tenants.limitCostIn", { currency: CURRENCY })}
          hint={
            use && use.rate.size > 0 ? t("tenants.rateNow", { rate: total(use.rate) }) : t("tenants.noRate")
          }
          inputMode="decimal"
        />
      </div>
      <fieldset>
        <legend className="mb-1 font-medium text-sm">{t("tenants.byModel")}</legend>
        <p className="mb-2 text-ink-3 text-xs">{form.errors.models ?? t("tenants.byModelHint")}</p>
        <div className="grid grid-cols-2 gap-x-4 gap-y-3">
          {models.map((model) => (
            <TextField
              key={model}
              label={gpuTitle({ gpu_model: model, gpu_count: 1 })}
              value={values.models[model] ?? ""}
              onChange={(event) => form.set("models", { ...values.models, [model]: event.target.value })}
              hint={hint(values.models[model] ?? "", use && (use.byModel.get(model) ?? 0))}
              inputMode="numeric"
            />
          ))}
        </div>
      </fieldset>
      <Checkbox
        checked={values.ownImages}
        onChange={(event) => form.set("ownImages", event.target.checked)}
        label={t("tenants.ownImages")}
        hint={t("tenants.ownImagesHint")}
      />
    </LimitForm>
  );
}
