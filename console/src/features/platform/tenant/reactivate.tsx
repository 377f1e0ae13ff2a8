import { useState } from "react";
import type { Tenant, TenantState } from "@/api/generated/types";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { type Change, Changes } from "@/ui/changes";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { SelectField } from "@/ui/select";
import { notify } from "@/ui/toast";
import { changeCurl, useTenantChange } from "./change";

/** Gives access back. Of a tenant that is being deleted, it takes the deletion back first. */
export default function ReactivateDialog({ it, onClose }: { it: Tenant; onClose: () => void }) {
  const { t } = useText();
  const isDeleting = it.state === "deleting";
  const [state, setState] = useState<Exclude<TenantState, "deleting">>(isDeleting ? "suspended" : "active");
  const change = useTenantChange(it, () => {
    onClose();
    notify({ title: t("tenants.reactivatedDone", { name: it.name }) });
  });
  const access: Change[] =
    state === "active"
      ? [
          { key: "accessBack", sign: "+", text: t("tenants.accessBack") },
          { key: "jobsGoOn", sign: "+", text: t("tenants.jobsGoOn") },
          { key: "stoppedStays", sign: "=", text: t("tenants.stoppedStays") },
        ]
      : [{ key: "staysSuspended", sign: "=", text: t("tenants.staysSuspended") }];
  const taken: Change[] = isDeleting
    ? [
        { key: "storagesKept", sign: "+", text: t("tenants.storagesKept") },
        { key: "instancesGone", sign: "!", text: t("tenants.instancesGone") },
      ]
    : [];
  return (
    <Dialog
      open
      onClose={onClose}
      title={
        isDeleting
          ? t("tenants.takeBackTitle", { name: it.name })
          : t("tenants.reactivateTitle", { name: it.name })
      }
      onSubmit={() => change.run({ state })}
      footer={
        <>
          <CopyCurl command={changeCurl(it, { state })} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={change.busy}>
            {isDeleting ? t("tenants.takeBack") : t("tenants.reactivate")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        {isDeleting && (
          <SelectField
            label={t("tenants.thenIs")}
            value={state}
            onChange={setState}
            choices={[
              { value: "suspended", label: t("platform.tenantSuspended") },
              { value: "active", label: t("platform.tenantActive") },
            ]}
          />
        )}
        <Changes title={t("platform.whatThisDoes")} changes={[...taken, ...access]} />
        {change.error && <ErrorLine error={change.error} />}
      </div>
    </Dialog>
  );
}
