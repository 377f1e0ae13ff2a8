import { asCurl, call } from "@/api/client";
import { deletePlatformInstance, stopPlatformInstance } from "@/api/generated/operations";
import type { PlatformInstance } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { ActionMenu } from "@/ui/menu";
import { notify } from "@/ui/toast";
import { useTenantName } from "../parts/names";
import { ReasonDialog } from "../parts/reason-dialog";

export type InstanceAct = "stop" | "delete";

const operations = { stop: stopPlatformInstance, delete: deletePlatformInstance };

/** Why an administrator cannot do it now, as a sentence. */
export function useWhyNotAct() {
  const { t } = useText();
  return (it: PlatformInstance, act: InstanceAct): string | false => {
    if (it.state === "deleting") return t("fleet.isDeleting");
    if (act === "stop" && it.state === "stopped") return t("fleet.isStopped");
    if (act === "stop" && it.state === "stopping") return t("fleet.isStopping");
    return false;
  };
}

export function InstanceActMenu({ it, onAct }: { it: PlatformInstance; onAct: (act: InstanceAct) => void }) {
  const { t } = useText();
  const whyNot = useWhyNotAct();
  return (
    <ActionMenu
      label={t("platform.actionsFor", { name: it.name })}
      entries={[
        {
          key: "stop",
          label: t("fleet.stopDots"),
          disabled: whyNot(it, "stop"),
          onSelect: () => onAct("stop"),
        },
        {
          key: "delete",
          label: t("fleet.deleteDots"),
          danger: true,
          disabled: whyNot(it, "delete"),
          onSelect: () => onAct("delete"),
        },
      ]}
    />
  );
}

/** Names the tenant, what is lost and what stays, and asks for the reason that the tenant reads. */
export function InstanceActDialog({
  it,
  act,
  onClose,
}: {
  it: PlatformInstance;
  act: InstanceAct;
  onClose: () => void;
}) {
  const { t } = useText();
  const tenant = useTenantName()(it.tenant_id);
  const requestOf = (reason: string) => ({ path: { id: it.id }, query: { reason } });
  const isStop = act === "stop";
  const send = useAct((reason: string, key) => call(operations[act], requestOf(reason), { key }), {
    touches: [["platform", "instances"]],
    onDone: () => {
      onClose();
      notify({
        title: isStop ? t("fleet.stopping", { name: it.name }) : t("fleet.deleting", { name: it.name }),
      });
    },
  });
  return (
    <ReasonDialog
      title={isStop ? t("fleet.stopTitle", { name: it.name }) : t("fleet.deleteTitle", { name: it.name })}
      verb={isStop ? t("fleet.stop") : t("fleet.delete")}
      hint={isStop ? t("platform.reasonShown") : t("platform.reasonRecorded")}
      act={send}
      curl={(reason) => asCurl(operations[act], requestOf(reason))}
      onClose={onClose}
    >
      <p>{t("fleet.ofTenant", { tenant })}</p>
      <p>{isStop ? t("fleet.stopHint") : t("fleet.deleteHint")}</p>
      {it.storages.length > 0 && <p>{t("fleet.storagesStay", { count: it.storages.length })}</p>}
    </ReasonDialog>
  );
}
