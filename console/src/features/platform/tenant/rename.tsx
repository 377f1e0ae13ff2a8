import type { Tenant } from "@/api/generated/types";
import { useText } from "@/i18n";
import { NameDialog } from "@/ui/name-dialog";
import { changeCurl, useTenantChange } from "./change";

export default function RenameDialog({ it, onClose }: { it: Tenant; onClose: () => void }) {
  const { t } = useText();
  const change = useTenantChange(it, onClose);
  return (
    <NameDialog
      title={t("tenants.renameTitle", { name: it.name })}
      label={t("tenants.name")}
      hint={t("tenants.renameHint")}
      initial={it.name}
      longest={100}
      wrong={t("tenants.nameMissing")}
      busy={change.busy}
      error={change.error}
      onSend={(name) => change.run({ name })}
      curlOf={(name) => changeCurl(it, { name })}
      onClose={onClose}
    />
  );
}
