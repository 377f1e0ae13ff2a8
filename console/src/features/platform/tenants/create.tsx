import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { asCurl, call } from "@/api/client";
import { createInvitation, createTenant } from "@/api/generated/operations";
import type { Tenant } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { notify } from "@/ui/toast";

interface Values {
  name: string;
  email: string;
}

/** A tenant has no members at first: its owner is invited in a second request. */
export default function CreateTenantDialog({ onClose }: { onClose: () => void }) {
  const { t } = useText();
  const navigate = useNavigate();
  // made before its invitation was refused: the next press only invites
  const [made, setMade] = useState<Tenant | null>(null);
  const create = useAct(
    async ({ name, email }: Values, key) => {
      const tenant = made ?? (await call(createTenant, { body: { name } }, { key }));
      setMade(tenant);
      if (email) await call(createInvitation, { path: { id: tenant.id }, body: { email, role: "owner" } });
      return tenant;
    },
    {
      touches: [["platform", "tenants"]],
      onDone: (tenant, { email }) => {
        notify({
          title: t("tenants.created", { name: tenant.name }),
          ...(email && { detail: t("tenants.ownerInvited", { email }) }),
        });
        void navigate({ to: "/admin/tenants/$id", params: { id: tenant.id } });
      },
    },
  );
  const form = useForm<Values>({
    initial: { name: "", email: "" },
    check: ({ name, email }) => ({
      name: name.trim() ? undefined : t("tenants.nameMissing"),
      email: !email.trim() || /^\S+@\S+$/.test(email.trim()) ? undefined : t("tenants.emailWrong"),
    }),
    send: ({ name, email }) => create.run({ name: name.trim(), email: email.trim() }),
    error: create.error,
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("tenants.create")}
      description={t("tenants.createHint")}
      onSubmit={form.submit}
      footer={
        <>
          <CopyCurl command={asCurl(createTenant, { body: { name: form.values.name.trim() } })} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={create.busy}>
            {t("tenants.createVerb")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <TextField
          {...form.text("name")}
          label={t("tenants.name")}
          hint={t("tenants.nameHint")}
          readOnly={made !== null}
          autoComplete="off"
        />
        <TextField
          {...form.text("email")}
          type="email"
          label={t("tenants.owner")}
          hint={t("tenants.ownerHint")}
          autoComplete="off"
        />
        {create.error && made && (
          <p className="text-ochre text-sm">{t("tenants.onlyInvitation", { name: made.name })}</p>
        )}
        {create.error && !Object.values(form.errors).some(Boolean) && <ErrorLine error={create.error} />}
      </div>
    </Dialog>
  );
}
