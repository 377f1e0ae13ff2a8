import { useQueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { updateInstance } from "@/api/generated/operations";
import type { Instance } from "@/api/generated/types";
import { putInstance } from "@/api/instances/cache";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { NameDialog } from "@/ui/name-dialog";

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
  return (
    <NameDialog
      title={t("instance.renameTitle", { name: it.name })}
      description={t("instance.renameHint")}
      label={t("instances.name")}
      initial={it.name}
      longest={63}
      wrong={t("instance.nameLength")}
      busy={save.busy}
      error={save.error}
      onSend={save.run}
      onClose={onClose}
    />
  );
}
