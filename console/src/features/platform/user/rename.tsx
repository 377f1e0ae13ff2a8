import { asCurl } from "@/api/client";
import { updateUser } from "@/api/generated/operations";
import { useText } from "@/i18n";
import { NameDialog } from "@/ui/name-dialog";
import { useUserChange } from "./change";
import type { UserDialogProps } from "./dialog-props";

export default function RenameDialog({ it, onClose }: UserDialogProps) {
  const { t } = useText();
  const change = useUserChange(it, onClose);
  return (
    <NameDialog
      title={t("users.renameTitle", { name: it.display_name })}
      label={t("users.name")}
      initial={it.display_name}
      longest={100}
      wrong={t("users.nameMissing")}
      field="display_name"
      busy={change.busy}
      error={change.error}
      onSend={(display_name) => change.run({ display_name })}
      curlOf={(display_name) => asCurl(updateUser, { path: { id: it.id }, body: { display_name } })}
      onClose={onClose}
    />
  );
}
