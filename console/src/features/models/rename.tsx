import { useQueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { getModel, updateModel } from "@/api/generated/operations";
import type { Model } from "@/api/generated/types";
import { model, modelsKey } from "@/api/models";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { NameDialog } from "@/ui/name-dialog";
import { notify } from "@/ui/toast";

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
  return (
    <NameDialog
      title={t("models.renameTitle", { name: it.name })}
      description={t("models.renameHint")}
      label={t("models.name")}
      initial={it.name}
      longest={100}
      wrong={t("models.nameLength")}
      busy={save.busy}
      error={save.error}
      onSend={save.run}
      onClose={onClose}
    />
  );
}
