import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Tenant } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { ratesOf } from "@/lib/money";
import { Button } from "@/ui/button";
import { Changes } from "@/ui/changes";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { Checkbox } from "@/ui/field";
import { notify } from "@/ui/toast";
import { changeCurl, useTenantChange } from "./change";
import { members, tenantInstances } from "./queries";

/** Says what ends at once, what stops and what stays, before the press. */
export default function SuspendDialog({ it, onClose }: { it: Tenant; onClose: () => void }) {
  const { t } = useText();
  const { total } = useFormat();
  const [stop, setStop] = useState(false);
  const { data: people } = useQuery(members(it.id));
  const { data: instances } = useQuery(tenantInstances(it.id));
  const running = instances?.items.filter((one) => one.state === "running") ?? [];
  const starting =
    instances?.items.filter((one) => one.state === "pending" || one.state === "starting") ?? [];
  const change = useTenantChange(it, () => {
    onClose();
    notify({ title: t("tenants.suspendedDone", { name: it.name }) });
  });
  const body = { state: "suspended" as const, stop_instances: stop };
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("tenants.suspendTitle", { name: it.name })}
      onSubmit={() => change.run(body)}
      footer={
        <>
          <CopyCurl command={changeCurl(it, body)} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="danger" type="submit" busy={change.busy}>
            {t("tenants.suspend")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <Checkbox
          checked={stop}
          onChange={(event) => setStop(event.target.checked)}
          label={
            running.length > 0
              ? t("tenants.stopToo", { count: running.length, rate: total(ratesOf(running)) })
              : t("tenants.stopTooNone")
          }
          hint={t("tenants.stopTooHint")}
        />
        <Changes
          title={t("platform.whatThisDoes")}
          changes={[
            {
              key: "accessEnds",
              sign: "−",
              text: t("tenants.accessEnds", { count: people?.items.length ?? 0 }),
            },
            {
              key: "nothingNew",
              sign: "−",
              text:
                starting.length > 0
                  ? t("tenants.nothingNew", { count: starting.length })
                  : t("tenants.nothingStarts"),
            },
            stop
              ? { key: "runningStop", sign: "−", text: t("tenants.runningStop", { count: running.length }) }
              : {
                  key: "runningStays",
                  sign: "=",
                  text: t("tenants.runningStays", { count: running.length }),
                },
            { key: "storagesStay", sign: "=", text: t("tenants.storagesStay") },
            { key: "jobsWait", sign: "=", text: t("tenants.jobsWait") },
          ]}
        />
        {change.error && <ErrorLine error={change.error} />}
      </div>
    </Dialog>
  );
}
