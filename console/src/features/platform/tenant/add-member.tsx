import { asCurl, call } from "@/api/client";
import { addMember, createInvitation, listUsers } from "@/api/generated/operations";
import type { Role, TenantId } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { Checkbox, TextField } from "@/ui/field";
import { SelectField } from "@/ui/select";
import { notify } from "@/ui/toast";

interface Values {
  email: string;
  role: Role;
  /** Without an invitation that they accept. */
  direct: boolean;
}

class NoAccount extends Error {}

/** An invitation, or at once for those who have an account: only administrators may do the latter. */
export default function AddMemberDialog({ tenantId, onClose }: { tenantId: TenantId; onClose: () => void }) {
  const { t } = useText();
  const send = useAct(
    async ({ email, role, direct }: Values, key): Promise<void> => {
      if (!direct) {
        await call(createInvitation, { path: { id: tenantId }, body: { email, role } }, { key });
        return;
      }
      const { items } = await call(listUsers, { query: { email_prefix: email, limit: 20 } });
      const user = items.find((it) => it.email.toLowerCase() === email.toLowerCase());
      if (!user) throw new NoAccount();
      await call(addMember, { path: { id: tenantId }, body: { user_id: user.id, role } }, { key });
    },
    {
      touches: [
        ["platform", "members", tenantId],
        ["platform", "invitations", tenantId],
      ],
      onDone: (_, { email, direct }) => {
        onClose();
        notify({
          title: direct ? t("tenants.memberAdded", { email }) : t("members.invited", { email }),
          ...(!direct && { detail: t("members.invitedHint") }),
        });
      },
    },
  );
  const form = useForm<Values>({
    initial: { email: "", role: "member", direct: false },
    check: ({ email }) => ({
      email: !email.trim()
        ? t("members.emailMissing")
        : /^\S+@\S+$/.test(email.trim())
          ? undefined
          : t("members.emailWrong"),
    }),
    send: (values) => send.run({ ...values, email: values.email.trim() }),
    error: send.error,
  });
  const { direct, role, email } = form.values;
  const noAccount = send.error instanceof NoAccount;
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("tenants.addMember")}
      onSubmit={form.submit}
      footer={
        <>
          <CopyCurl command={asCurl(createInvitation, { path: { id: tenantId }, body: { email, role } })} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={send.busy}>
            {direct ? t("tenants.addVerb") : t("members.inviteSubmit")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <TextField
          {...form.text("email")}
          type="email"
          label={t("members.email")}
          hint={direct ? t("tenants.directHint") : t("members.emailHint")}
          error={form.errors.email ?? (noAccount ? t("tenants.noAccount") : undefined)}
          autoComplete="off"
        />
        <SelectField
          label={t("members.role")}
          value={role}
          onChange={(next) => form.set("role", next)}
          choices={[
            { value: "owner", label: t("members.owner"), hint: t("signIn.roleOwner") },
            { value: "member", label: t("members.member"), hint: t("signIn.roleMember") },
            { value: "viewer", label: t("members.viewer"), hint: t("signIn.roleViewer") },
          ]}
        />
        <Checkbox
          checked={direct}
          onChange={(event) => form.set("direct", event.target.checked)}
          label={t("tenants.direct")}
          hint={t("tenants.directWhy")}
        />
        {send.error && !noAccount && !form.errors.email && <ErrorLine error={send.error} />}
      </div>
    </Dialog>
  );
}
