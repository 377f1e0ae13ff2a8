import { asCurl } from "@/api/client";
import { updateUser } from "@/api/generated/operations";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { useUserChange } from "./change";
import type { UserDialogProps } from "./dialogs";

export default function RenameDialog({ it, onClose }: UserDialogProps) {
  const { t } = useText();
  const change = useUserChange(it, onClose);
  const form = useForm({
    initial: { display_name: it.display_name },
    check: ({ display_name }) => ({
      display_name: display_name.trim() ? undefined : t("users.nameMissing"),
    }),
    send: ({ display_name }) => change.run({ display_name: display_name.trim() }),
    error: change.error,
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("users.renameTitle", { name: it.display_name })}
      onSubmit={form.submit}
      footer={
        <>
          <CopyCurl
            command={asCurl(updateUser, {
              path: { id: it.id },
              body: { display_name: form.values.display_name.trim() },
            })}
          />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={change.busy}>
            {t("ui.save")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <TextField {...form.text("display_name")} label={t("users.name")} autoComplete="off" />
        {change.error && !form.errors.display_name && <ErrorLine error={change.error} />}
      </div>
    </Dialog>
  );
}
