import { useQueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { updateInstance } from "@/api/generated/operations";
import type { Instance } from "@/api/generated/types";
import { putInstance } from "@/api/instances/cache";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";

export default function RenameDialog({ it, onClose }: { it: Instance; onClose: () => void }) {
  const { t } = useText();
  const client = useQueryClient();
  const save = useAct(
    (name: string, key) => call(updateInstance, { path: { id: it.id }, body: { name } }, { key }),
    {
      onDone: (answer) => {
        putInstance(client, answer);
        onClose();
      },
    },
  );
  const form = useForm({
    initial: { name: it.name },
    check: ({ name }) => ({
      name: name.trim().length < 1 || name.trim().length > 63 ? t("instance.nameLength") : undefined,
    }),
    send: ({ name }) => save.run(name.trim()),
    error: save.error,
  });
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={form.submit}
      title={t("instance.renameTitle", { name: it.name })}
      description={t("instance.renameHint")}
      footer={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={save.busy}>
            {t("ui.save")}
          </Button>
        </>
      }
    >
      <TextField label={t("instances.name")} autoComplete="off" {...form.text("name")} />
      {save.error != null && !form.errors.name && <ErrorLine error={save.error} className="mt-4" />}
    </Dialog>
  );
}
