import { useQueryClient } from "@tanstack/react-query";
import { asCurl, call } from "@/api/client";
import { updateStorage } from "@/api/generated/operations";
import type { Storage } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { putStorage } from "@/api/storages/cache";
import { storage } from "@/api/storages/queries";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { notify } from "@/ui/toast";

export default function RenameDialog({ it, onClose }: { it: Storage; onClose: () => void }) {
  const { t } = useText();
  const client = useQueryClient();
  const path = { id: it.id };
  const save = useAct(
    async (name: string, key) => {
      // the change carries the state that was read last
      await client.fetchQuery(storage(it.id));
      return call(updateStorage, { path, body: { name } }, { key });
    },
    {
      onDone: (answer) => {
        putStorage(client, answer);
        notify({ title: t("storages.renamed", { name: answer.name }) });
        onClose();
      },
    },
  );
  const form = useForm({
    initial: { name: it.name },
    check: ({ name }) => ({
      name: name.trim().length < 1 || name.trim().length > 100 ? t("storages.nameLength") : undefined,
    }),
    send: ({ name }) => save.run(name.trim()),
    error: save.error,
  });
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={form.submit}
      title={t("storages.renameTitle", { name: it.name })}
      description={t("storages.renameHint")}
      footer={
        <>
          <CopyCurl command={asCurl(updateStorage, { path, body: { name: form.values.name.trim() } })} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={save.busy}>
            {t("ui.save")}
          </Button>
        </>
      }
    >
      <TextField label={t("storages.name")} autoComplete="off" {...form.text("name")} />
      {save.error != null && !form.errors.name && <ErrorLine error={save.error} className="mt-4" />}
    </Dialog>
  );
}
