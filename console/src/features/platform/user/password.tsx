import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { PasswordField } from "@/ui/field";
import { notify } from "@/ui/toast";
import { useUserChange } from "./change";
import type { UserDialogProps } from "./dialog-props";

const SHORTEST = 8;

export default function PasswordDialog({ it, onClose }: UserDialogProps) {
  const { t } = useText();
  const change = useUserChange(it, () => {
    onClose();
    notify({ title: t("users.passwordSet", { name: it.display_name }) });
  });
  const form = useForm({
    initial: { password: "" },
    check: ({ password }) => ({
      password: password.length >= SHORTEST ? undefined : t("users.passwordShort", { count: SHORTEST }),
    }),
    send: change.run,
    error: change.error,
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("users.passwordTitle", { name: it.display_name })}
      description={t("users.passwordEnds")}
      onSubmit={form.submit}
      footer={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={change.busy}>
            {t("users.setPassword")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <PasswordField
          {...form.text("password")}
          label={t("users.password")}
          hint={t("users.passwordHint", { count: SHORTEST })}
          autoComplete="new-password"
        />
        {change.error && !form.errors.password && <ErrorLine error={change.error} />}
      </div>
    </Dialog>
  );
}
