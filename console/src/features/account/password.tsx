import { useState } from "react";
import { call } from "@/api/client";
import { changePassword } from "@/api/generated/operations";
import type { PasswordChange } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { PasswordField } from "@/ui/field";
import { Row } from "@/ui/page";
import { notify } from "@/ui/toast";
import { sessions } from "./queries";

export function PasswordRow() {
  const { t } = useText();
  const [open, setOpen] = useState(false);
  return (
    <Row title={t("account.password")} hint={t("account.passwordHint")}>
      <Button small onClick={() => setOpen(true)}>
        {t("account.change")}
      </Button>
      {open && <PasswordDialog onClose={() => setOpen(false)} />}
    </Row>
  );
}

const LEAST = 8;

function PasswordDialog({ onClose }: { onClose: () => void }) {
  const { t } = useText();
  const change = useAct((body: PasswordChange, key) => call(changePassword, { body }, { key }), {
    touches: [sessions.queryKey],
    onDone: () => {
      onClose();
      notify({ title: t("account.passwordChanged"), detail: t("account.passwordChangedHint") });
    },
  });
  const form = useForm({
    initial: { current_password: "", new_password: "" },
    check: (values) => ({
      current_password: values.current_password ? undefined : t("account.passwordCurrentMissing"),
      new_password: values.new_password.length >= LEAST ? undefined : t("account.passwordShort"),
    }),
    send: change.run,
    error: change.error,
  });
  const isWrong = change.error instanceof ApiError && change.error.is("wrong-credentials");
  const current = form.text("current_password");
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("account.passwordChange")}
      onSubmit={form.submit}
      footer={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={change.busy}>
            {t("account.passwordChange")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <PasswordField
          {...current}
          error={current.error ?? (isWrong ? t("account.passwordCurrentWrong") : undefined)}
          label={t("account.passwordCurrent")}
          autoComplete="current-password"
        />
        <PasswordField
          {...form.text("new_password")}
          label={t("account.passwordNew")}
          hint={t("account.passwordNewHint")}
          autoComplete="new-password"
        />
        {change.error && !isWrong && !Object.values(form.errors).some(Boolean) && (
          <ErrorLine error={change.error} />
        )}
      </div>
    </Dialog>
  );
}
