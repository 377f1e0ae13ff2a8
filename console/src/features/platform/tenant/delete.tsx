import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { asCurl, call } from "@/api/client";
import { deleteTenant } from "@/api/generated/operations";
import type { Tenant } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { useFormat } from "@/lib/format";
import { monthlyOf } from "@/lib/money";
import { Button } from "@/ui/button";
import { Changes } from "@/ui/changes";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { SelectField } from "@/ui/select";
import { tenantInstances, tenantStorages } from "./queries";

const route = getRouteApi("/_app/admin/tenants/$id");

const graces = ["0", "24", "168", "720", "2160"] as const;
type Grace = (typeof graces)[number];

/** Names what is lost, and when. */
export default function DeleteDialog({ it, onClose }: { it: Tenant; onClose: () => void }) {
  const { t } = useText();
  const { total } = useFormat();
  const navigate = route.useNavigate();
  const { data: instances } = useQuery(tenantInstances(it.id));
  const { data: storages } = useQuery(tenantStorages(it.id));
  const requestOf = (hours: Grace) => ({
    path: { id: it.id },
    query: { storage_grace_hours: Number(hours) },
  });
  const remove = useAct((hours: Grace, key) => call(deleteTenant, requestOf(hours), { key }), {
    touches: [
      ["platform", "tenants"],
      ["platform", "instances"],
    ],
    onDone: (operation) => void navigate({ to: ".", search: { operation: operation.id }, replace: true }),
  });
  const form = useForm<{ grace: Grace; name: string }>({
    initial: { grace: "168", name: "" },
    check: ({ name }) => ({ name: name.trim() === it.name ? undefined : t("ui.typeFirst") }),
    send: ({ grace }) => remove.run(grace),
    error: remove.error,
  });
  const { grace } = form.values;
  const graceWords: Record<Grace, string> = {
    "0": t("tenants.graceNone"),
    "24": t("tenants.graceDay"),
    "168": t("tenants.graceWeek"),
    "720": t("tenants.graceMonth"),
    "2160": t("tenants.graceQuarter"),
  };
  const kept = storages?.items ?? [];
  const size = kept.reduce((sum, one) => sum + one.size_gib, 0);
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("tenants.deleteTitle", { name: it.name })}
      onSubmit={form.submit}
      footer={
        <>
          <CopyCurl command={asCurl(deleteTenant, requestOf(grace))} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="danger" type="submit" busy={remove.busy}>
            {t("tenants.delete")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <SelectField
          label={t("tenants.grace")}
          hint={t("tenants.graceHint")}
          value={grace}
          onChange={(next) => form.set("grace", next)}
          choices={graces.map((value) => ({ value, label: graceWords[value] }))}
        />
        <Changes
          title={t("platform.whatThisDoes")}
          changes={[
            {
              key: "deletesInstances",
              sign: "−",
              text: t("tenants.deletesInstances", { count: instances?.items.length ?? 0 }),
            },
            {
              key: "deletesStorages",
              sign: "−",
              text: t("tenants.deletesStorages", { count: kept.length, size, when: graceWords[grace] }),
            },
            { key: "deletesRest", sign: "−", text: t("tenants.deletesRest") },
            ...(kept.length > 0 && grace !== "0"
              ? [
                  {
                    key: "storagesCost",
                    sign: "!" as const,
                    text: t("tenants.storagesCost", { price: total(monthlyOf(kept)) }),
                  },
                ]
              : []),
            { key: "deleteKeeps", sign: "=", text: t("tenants.deleteKeeps") },
          ]}
        />
        <TextField
          {...form.text("name")}
          label={t("ui.typeToConfirm", { name: it.name })}
          autoComplete="off"
        />
        {remove.error && <ErrorLine error={remove.error} />}
      </div>
    </Dialog>
  );
}
