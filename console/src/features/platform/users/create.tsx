import { useNavigate } from "@tanstack/react-router";
import { asCurl, call } from "@/api/client";
import { createUser } from "@/api/generated/operations";
import type { NewUser } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { Checkbox, PasswordField, TextField } from "@/ui/field";
import { notify } from "@/ui/toast";

const SHORTEST = 8;

interface Values {
  email: string;
  display_name: string;
  password: string;
  admin: boolean;
}

const bodyOf = ({ email, display_name, password, admin }: Values): NewUser => ({
  email: email.trim(),
  ...(display_name.trim() && { display_name: display_name.trim() }),
  password,
  admin,
});

export default function CreateUserDialog({ onClose }: { onClose: () => void }) {
  const { t } = useText();
  const navigate = useNavigate();
  const create = useAct((values: Values, key) => call(createUser, { body: bodyOf(values) }, { key }), {
    touches: [["platform", "users"]],
    onDone: (made) => {
      notify({ title: t("users.created", { email: made.email }), detail: t("users.createdHint") });
      void navigate({ to: "/admin/users/$id", params: { id: made.id } });
    },
  });
  const form = useForm<Values>({
    initial: { email: "", display_name: "", password: "", admin: false },
    check: ({ email, password }) => ({
      email: /^\S+@\S+$/.test(email.trim()) ? undefined : t("users.emailWrong"),
      password: password.length >= SHORTEST ? undefined : t("users.passwordShort", { count: SHORTEST }),
    }),
    send: create.run,
    error: create.error,
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("users.create")}
      description={t("users.createHint")}
      onSubmit={form.submit}
      footer={
        <>
          <CopyCurl command={asCurl(createUser, { body: { ...bodyOf(form.values), password: "…" } })} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={create.busy}>
            {t("users.createVerb")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <TextField {...form.text("email")} type="email" label={t("users.email")} autoComplete="off" />
        <TextField
          {...form.text("display_name")}
          label={t("users.name")}
          hint={t("users.nameHint")}
          autoComplete="off"
        />
        <PasswordField
          {...form.text("password")}
          label={t("users.password")}
          hint={t("users.passwordHint", { count: SHORTEST })}
          autoComplete="new-password"
        />
        <Checkbox
          checked={form.values.admin}
          onChange={(event) => form.set("admin", event.target.checked)}
          label={t("users.administrator")}
          hint={t("users.adminHint")}
        />
        {create.error && !Object.values(form.errors).some(Boolean) && <ErrorLine error={create.error} />}
      </div>
    </Dialog>
  );
}
