import { useQueryClient } from "@tanstack/react-query";
import { asCurl, call } from "@/api/client";
import { updateStorage } from "@/api/generated/operations";
import type { Storage } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { putStorage } from "@/api/storages/cache";
import { storage } from "@/api/storages/queries";
import { useText } from "@/i18n";
import { NameDialog } from "@/ui/name-dialog";
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
  return (
    <NameDialog
      title={t("storages.renameTitle", { name: it.name })}
      description={t("storages.renameHint")}
      label={t("storages.name")}
      initial={it.name}
      longest={100}
      wrong={t("storages.nameLength")}
      busy={save.busy}
      error={save.error}
      onSend={save.run}
      curlOf={(name) => asCurl(updateStorage, { path, body: { name } })}
      onClose={onClose}
    />
  );
}
