import { useQuery } from "@tanstack/react-query";
import { asCurl, call } from "@/api/client";
import { putPlatformPoolShare } from "@/api/generated/operations";
import type { PoolId, PoolShare, TenantId } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { SelectField } from "@/ui/select";
import { notify } from "@/ui/toast";
import { useTenantChoices, useTenantName } from "../parts/names";
import { share } from "./queries";
import { defaults } from "./share-table";

interface Values {
  tenant: TenantId | "";
  weight: string;
  guarantee: string;
  limit: string;
  urgent: string;
}

const isCount = (text: string) => /^\d{1,6}$/.test(text.trim());

/** The whole share of a tenant. It counts for jobs that start afterwards. */
export function ShareDialog({
  poolId,
  given,
  onClose,
}: {
  poolId: PoolId;
  /** Null for a tenant that is chosen. */
  given: PoolShare | null;
  onClose: () => void;
}) {
  const { t } = useText();
  const name = useTenantName();
  const choices = useTenantChoices();
  const requestOf = ({ tenant, weight, guarantee, limit, urgent }: Values, isNew: boolean) => ({
    path: { id: poolId, tenant_id: tenant as TenantId },
    ...(isNew && { headers: { "If-Match": "*" } }),
    body: {
      weight: Number(weight),
      guarantee: Number(guarantee),
      limit: limit.trim() ? Number(limit) : null,
      urgent: Number(urgent),
    },
  });
  // what is read gives the version that is changed
  const { data: known } = useQuery({
    ...share(poolId, given?.tenant_id ?? ("" as TenantId)),
    enabled: given !== null,
  });
  const put = useAct(
    (values: Values, key) =>
      call(putPlatformPoolShare, requestOf(values, given === null || known === null), { key }),
    {
      touches: [["platform", "pools"]],
      onDone: (_, { tenant }) => {
        onClose();
        notify({ title: t("pools.shareSet", { name: tenant ? name(tenant) : "" }) });
      },
    },
  );
  const form = useForm<Values>({
    initial: {
      tenant: given?.tenant_id ?? "",
      weight: String(given?.share.weight ?? defaults.weight),
      guarantee: String(given?.share.guarantee ?? defaults.guarantee),
      limit: String(given?.share.limit ?? ""),
      urgent: String(given?.share.urgent ?? defaults.urgent),
    },
    check: (values) => ({
      tenant: values.tenant ? undefined : t("pools.chooseTenant"),
      weight: isCount(values.weight) ? undefined : t("tenants.notANumber"),
      guarantee: isCount(values.guarantee) ? undefined : t("tenants.notANumber"),
      limit: values.limit.trim() === "" || isCount(values.limit) ? undefined : t("tenants.notANumber"),
      urgent: isCount(values.urgent) ? undefined : t("tenants.notANumber"),
    }),
    send: put.run,
    error: put.error,
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={given ? t("pools.shareTitle", { name: name(given.tenant_id) }) : t("pools.setShare")}
      description={t("pools.shareHint")}
      onSubmit={form.submit}
      footer={
        <>
          <CopyCurl command={asCurl(putPlatformPoolShare, requestOf(form.values, given === null))} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={put.busy}>
            {t("ui.save")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        {!given && (
          <SelectField
            label={t("platform.tenant")}
            value={form.values.tenant}
            onChange={(next) => form.set("tenant", next)}
            error={form.errors.tenant}
            choices={choices}
          />
        )}
        <div className="grid grid-cols-2 gap-4">
          <TextField
            {...form.text("weight")}
            label={t("pools.weight")}
            hint={t("pools.weightHint")}
            inputMode="numeric"
          />
          <TextField
            {...form.text("guarantee")}
            label={t("pools.guarantee")}
            hint={t("pools.guaranteeHint")}
            inputMode="numeric"
          />
          <TextField
            {...form.text("limit")}
            label={t("pools.limit")}
            hint={t("pools.limitHint")}
            inputMode="numeric"
          />
          <TextField
            {...form.text("urgent")}
            label={t("pools.urgentMost")}
            hint={t("pools.urgentHint")}
            inputMode="numeric"
          />
        </div>
        {put.error && !Object.values(form.errors).some(Boolean) && <ErrorLine error={put.error} />}
      </div>
    </Dialog>
  );
}
