import { asCurl, call } from "@/api/client";
import { createMqCredential } from "@/api/generated/operations";
import type { MqCredential, NewMqCredential } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { credentials } from "./queries";

/** Mounted anew each time: nothing of the last one stays in it. */
export function CreateCredential({
  onClose,
  onDone,
}: {
  onClose: () => void;
  onDone: (made: MqCredential) => void;
}) {
  const { t } = useText();
  const create = useAct((body: NewMqCredential, key) => call(createMqCredential, { body }, { key }), {
    touches: [credentials.queryKey],
    onDone,
  });
  const form = useForm({
    initial: { name: "" },
    check: ({ name }) => ({ name: name.trim() ? undefined : t("queue.nameMissing") }),
    send: ({ name }) => create.run({ name: name.trim() }),
    error: create.error,
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("queue.create")}
      description={t("queue.createHint")}
      onSubmit={form.submit}
      footer={
        <>
          <CopyCurl command={asCurl(createMqCredential, { body: { name: form.values.name.trim() } })} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={create.busy}>
            {t("queue.createSubmit")}
          </Button>
        </>
      }
    >
      <TextField
        {...form.text("name")}
        label={t("queue.name")}
        hint={t("queue.nameHint")}
        autoComplete="off"
      />
      {create.error && !form.errors.name && <ErrorLine error={create.error} className="mt-4" />}
    </Dialog>
  );
}
