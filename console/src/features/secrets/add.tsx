import { asCurl, call } from "@/api/client";
import { createRegistryCredential } from "@/api/generated/operations";
import type { NewRegistryCredential } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { PasswordField, TextField } from "@/ui/field";
import { notify } from "@/ui/toast";
import { registryCredentials } from "./queries";

/** A host with its port, as in names of images. */
const isRegistry = (text: string) => /^[a-z0-9.-]+(:\d{1,5})?$/i.test(text);

const trimmed = ({ name, registry, username, secret }: NewRegistryCredential): NewRegistryCredential => ({
  name: name.trim(),
  registry: registry.trim().toLowerCase(),
  username: username.trim(),
  secret,
});

export function AddDialog({ registry, onClose }: { registry: string; onClose: () => void }) {
  const { t } = useText();
  const add = useAct(
    (body: NewRegistryCredential, key) => call(createRegistryCredential, { body }, { key }),
    {
      touches: [registryCredentials.queryKey],
      onDone: ({ name }) => {
        notify({ title: t("secrets.added", { name }) });
        onClose();
      },
    },
  );
  const form = useForm<NewRegistryCredential>({
    initial: { name: "", registry, username: "", secret: "" },
    check: (values) => {
      const { name, registry, username, secret } = trimmed(values);
      return {
        name: name && name.length <= 100 ? undefined : t("secrets.nameMissing"),
        registry: isRegistry(registry) ? undefined : t("secrets.registryMissing"),
        username: username ? undefined : t("secrets.usernameMissing"),
        secret: secret ? undefined : t("secrets.secretMissing"),
      };
    },
    send: (values) => add.run(trimmed(values)),
    error: add.error,
  });
  const isTaken = add.error instanceof ApiError && add.error.is("registry-credential-exists");
  const name = form.text("name");
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={form.submit}
      title={t("secrets.add")}
      description={t("secrets.addHint")}
      footer={
        <>
          <CopyCurl
            command={asCurl(createRegistryCredential, {
              body: { ...trimmed(form.values), secret: "TOKEN" },
            })}
          />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={add.busy}>
            {t("secrets.save")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <TextField
          {...name}
          onChange={(event) => {
            add.reset();
            name.onChange(event);
          }}
          error={name.error ?? (isTaken ? t("problems.registry-credential-exists") : undefined)}
          label={t("secrets.name")}
          hint={t("secrets.nameHint")}
          autoComplete="off"
        />
        <TextField
          {...form.text("registry")}
          label={t("secrets.registry")}
          hint={t("secrets.registryHint")}
          placeholder="ghcr.io"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
        />
        <TextField
          {...form.text("username")}
          label={t("secrets.username")}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
        />
        <PasswordField
          {...form.text("secret")}
          label={t("secrets.secret")}
          hint={t("secrets.secretHint")}
          autoComplete="new-password"
        />
        {add.error && !isTaken && !Object.values(form.errors).some(Boolean) && (
          <ErrorLine error={add.error} />
        )}
      </div>
    </Dialog>
  );
}
