import { asCurl, call } from "@/api/client";
import { deletePlatformStorage } from "@/api/generated/operations";
import type { PlatformStorage } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { notify } from "@/ui/toast";
import { useTenantName } from "../parts/names";
import { ReasonDialog } from "../parts/reason-dialog";

export function DeleteStorageDialog({ it, onClose }: { it: PlatformStorage; onClose: () => void }) {
  const { t } = useText();
  const tenant = useTenantName()(it.tenant_id);
  const requestOf = (reason: string) => ({ path: { id: it.id }, query: { reason } });
  const remove = useAct((reason: string, key) => call(deletePlatformStorage, requestOf(reason), { key }), {
    touches: [["platform", "storages"]],
    onDone: () => {
      onClose();
      notify({ title: t("fleet.deleting", { name: it.name }) });
    },
  });
  return (
    <ReasonDialog
      title={t("fleet.deleteTitle", { name: it.name })}
      verb={t("fleet.delete")}
      hint={t("platform.reasonRecorded")}
      act={remove}
      curl={(reason) => asCurl(deletePlatformStorage, requestOf(reason))}
      onClose={onClose}
    >
      <p>{t("fleet.ofTenant", { tenant })}</p>
      <p>{t("fleet.deleteStorageHint", { size: it.size_gib })}</p>
      {it.attachments.length > 0 && (
        <p className="text-ochre">{t("fleet.attached", { count: it.attachments.length })}</p>
      )}
    </ReasonDialog>
  );
}
