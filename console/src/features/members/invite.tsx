import { asCurl, call } from "@/api/client";
import { createInvitation } from "@/api/generated/operations";
import type { Role, TenantId } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { SelectField } from "@/ui/select";
import { notify } from "@/ui/toast";
import { invitations } from "./queries";

export function InviteDialog({
  tenant,
  open,
  onClose,
}: {
  tenant: TenantId;
  open: boolean;
  onClose: () => void;
}) {
  const { t } = useText();
  const initial: { email: string; role: Role } = { email: "", role: "member" };
  const invite = useAct(
    (body: { email: string; role: Role }, key) =>
      call(createInvitation, { path: { id: tenant }, body }, { key }),
    {
      touches: [invitations(tenant).queryKey],
      onDone: ({ email }) => {
        close();
        notify({ title: t("members.invited", { email }), detail: t("members.invitedHint") });
      },
    },
  );
  const form = useForm({
    initial,
    check: ({ email }) => ({
      email: !email.trim()
        ? t("members.emailMissing")
        : /^\S+@\S+$/.test(email.trim())
          ? undefined
          : t("members.emailWrong"),
    }),
    send: ({ email, role }) => invite.run({ email: email.trim(), role }),
    error: invite.error,
  });
  const close = () => {
    form.reset();
    invite.reset();
    onClose();
  };
  return (
    <Dialog
      open={open}
      onClose={close}
      title={t("members.invite")}
      onSubmit={form.submit}
      footer={
        <>
          <CopyCurl command={asCurl(createInvitation, { path: { id: tenant }, body: form.values })} />
          <Button onClick={close}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={invite.busy}>
            {t("members.inviteSubmit")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <TextField
          {...form.text("email")}
          type="email"
          label={t("members.email")}
          hint={t("members.emailHint")}
          autoComplete="off"
        />
        <RoleField value={form.values.role} onChange={(role) => form.set("role", role)} />
        {invite.error && !Object.values(form.errors).some(Boolean) && <ErrorLine error={invite.error} />}
      </div>
    </Dialog>
  );
}

function RoleField({ value, onChange }: { value: Role; onChange: (role: Role) => void }) {
  const { t } = useText();
  const hints = {
    owner: t("signIn.roleOwner"),
    member: t("signIn.roleMember"),
    viewer: t("signIn.roleViewer"),
  };
  return (
    <SelectField
      label={t("members.role")}
      hint={hints[value]}
      value={value}
      onChange={onChange}
      choices={[
        { value: "member", label: t("members.member"), hint: hints.member },
        { value: "viewer", label: t("members.viewer"), hint: hints.viewer },
        { value: "owner", label: t("members.owner"), hint: hints.owner },
      ]}
    />
  );
}
