import { useQuery } from "@tanstack/react-query";
import { asCurl, call } from "@/api/client";
import { putPlatformStorageQuota } from "@/api/generated/operations";
import type { Tenant } from "@/api/generated/types";
import { useAct, useLoaded } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { TextField } from "@/ui/field";
import { notify } from "@/ui/toast";
import { isBelow, numberOf, storageInUseOf } from "./in-use";
import { BelowHint, LimitForm } from "./limit-form";
import { storageQuota, tenantStorages } from "./queries";

interface Values {
  storages: string;
  gib: string;
  reason: string;
}

export default function StorageQuotaDialog({ it, onClose }: { it: Tenant; onClose: () => void }) {
  const { t } = useText();
  const set = useLoaded(storageQuota(it.id));
  const { data: storages } = useQuery(tenantStorages(it.id));
  const use = storages && storageInUseOf(storages);
  const requestOf = ({ storages, gib, reason }: Values) => ({
    path: { tenant_id: it.id },
    query: { reason: reason.trim() },
    ...(set === null && { headers: { "If-Match": "*" } }),
    body: { storages: numberOf(storages) ?? null, gib: numberOf(gib) ?? null },
  });
  const put = useAct((values: Values, key) => call(putPlatformStorageQuota, requestOf(values), { key }), {
    touches: [["platform", "storage-quotas"]],
    onDone: () => {
      onClose();
      notify({ title: t("tenants.limitsSaved", { name: it.name }) });
    },
  });
  const isCount = (text: string) => (numberOf(text) === undefined ? t("tenants.notANumber") : undefined);
  const form = useForm<Values>({
    initial: {
      storages: String(set?.limits.storages ?? ""),
      gib: String(set?.limits.gib ?? ""),
      reason: "",
    },
    check: (values) => ({
      storages: isCount(values.storages),
      gib: isCount(values.gib),
      reason: values.reason.trim() ? undefined : t("platform.reasonMissing"),
    }),
    send: put.run,
    error: put.error,
  });
  const hint = (text: string, used: number | undefined) =>
    used === undefined ? (
      t("tenants.usedUnknownShort")
    ) : isBelow(text, used) ? (
      <BelowHint is>{t("tenants.belowStorage", { used })}</BelowHint>
    ) : (
      t("tenants.inUse", { used })
    );
  return (
    <LimitForm
      title={t("tenants.storageQuotaOf", { name: it.name })}
      form={form}
      busy={put.busy}
      error={put.error}
      curl={asCurl(putPlatformStorageQuota, requestOf(form.values))}
      onClose={onClose}
    >
      <p className="text-ink-2 text-sm">{t("tenants.storageQuotaHint")}</p>
      <div className="grid grid-cols-2 gap-4">
        <TextField
          {...form.text("storages")}
          label={t("tenants.limitStorages")}
          hint={hint(form.values.storages, use?.storages)}
          inputMode="numeric"
        />
        <TextField
          {...form.text("gib")}
          label={t("tenants.limitGib")}
          hint={hint(form.values.gib, use?.gib)}
          inputMode="numeric"
        />
      </div>
    </LimitForm>
  );
}
