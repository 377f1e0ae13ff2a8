import type { NewSshKey } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import type { Act } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";

/** The public key to add, to a person or to an instance. */
export default function AddSshKeyDialog({
  add,
  title,
  hint,
  curlOf,
  onClose,
}: {
  add: Act<NewSshKey>;
  title: string;
  hint: string;
  curlOf: (body: NewSshKey) => string;
  onClose: () => void;
}) {
  const { t } = useText();
  const form = useForm({
    initial: { public_key: "", name: "" },
    check: ({ public_key }) => ({
      public_key: public_key.trim() ? undefined : t("sshKeys.keyMissing"),
    }),
    send: (values) => add.run(bodyOf(values)),
    error: add.error,
  });
  const isKnown = add.error instanceof ApiError && add.error.is("ssh-key-exists");
  const field = form.text("public_key");
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={form.submit}
      title={title}
      description={hint}
      footer={
        <>
          <CopyCurl command={curlOf(bodyOf(form.values))} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={add.busy}>
            {t("sshKeys.add")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <TextField
          {...field}
          onChange={(event) => {
            add.reset();
            field.onChange(event);
          }}
          error={field.error ?? (isKnown ? t("problems.ssh-key-exists") : undefined)}
          label={t("sshKeys.publicKey")}
          hint={t("sshKeys.publicKeyHint")}
          placeholder="ssh-ed25519 AAAA…"
          autoComplete="off"
          spellCheck={false}
        />
        <TextField
          {...form.text("name")}
          label={t("sshKeys.name")}
          hint={t("sshKeys.nameHint")}
          autoComplete="off"
        />
      </div>
      {add.error != null && !field.error && !isKnown && <ErrorLine error={add.error} className="mt-4" />}
    </Dialog>
  );
}

const bodyOf = ({ public_key, name }: { public_key: string; name: string }): NewSshKey => ({
  public_key: public_key.trim(),
  ...(name.trim() && { name: name.trim() }),
});
