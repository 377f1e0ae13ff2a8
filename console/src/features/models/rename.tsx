import { useQueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { getModel, updateModel } from "@/api/generated/operations";
import type { Model } from "@/api/generated/types";
import { model, modelsKey } from "@/api/models";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { notify } from "@/ui/toast";

const LONGEST = 100;

export default function RenameDialog({ it, onClose }: { it: Model; onClose: () => void }) {
  const { t } = useText();
  const client = useQueryClient();
  const path = { id: it.id };
  const save = useAct(
    async (name: string, key) => {
      // a list has no ETags: what it shows may be older than what is changed
      await call(getModel, { path });
      return call(updateModel, { path, body: { name } }, { key });
    },
    {
      touches: [modelsKey],
      onDone: (changed) => {
        client.setQueryData(model(it.id).queryKey, changed);
        notify({ title: t("models.renamed", { name: changed.name }) });
        onClose();
      },
    },
  );
  const form = useForm({
    initial: { name: it.name },
    check: ({ name }) => ({
      name: name.trim().length < 1 || name.trim().length > LONGEST ? t("models.nameLength") : undefined,
    }),
    send: ({ name }) => save.run(name.trim()),
    error: save.error,
  });
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={form.submit}
      title={t("models.renameTitle", { name: it.name })}
      description={t("models.renameHint")}
      footer={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={save.busy}>
            {t("ui.save")}
          </Button>
        </>
      }
    >
      <TextField label={t("models.name")} autoComplete="off" {...form.text("name")} />
      {save.error != null && !form.errors.name && <ErrorLine error={save.error} className="mt-4" />}
    </Dialog>
  );
}
