import { useState } from "react";
import { call } from "@/api/client";
import { deleteApiKey } from "@/api/generated/operations";
import type { ApiKey } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { ConfirmDialog } from "@/ui/dialog";
import { ActionMenu } from "@/ui/menu";
import { notify } from "@/ui/toast";
import { keys } from "./queries";

export function KeyMenu({ apiKey }: { apiKey: ApiKey }) {
  const { t } = useText();
  const [open, setOpen] = useState(false);
  const { name, id } = apiKey;
  const remove = useAct((_: void, key) => call(deleteApiKey, { path: { id } }, { key }), {
    touches: [keys.queryKey],
    onDone: () => {
      setOpen(false);
      notify({ title: t("keys.deleted", { name }) });
    },
  });
  return (
    <>
      <ActionMenu
        label={t("keys.actions", { name })}
        entries={[{ key: "delete", label: t("keys.delete"), danger: true, onSelect: () => setOpen(true) }]}
      />
      <ConfirmDialog
        open={open}
        onClose={() => {
          setOpen(false);
          remove.reset();
        }}
        onConfirm={() => remove.run()}
        busy={remove.busy}
        error={remove.error}
        title={t("keys.deleteTitle", { name })}
        verb={t("keys.deleteVerb")}
      >
        <p>{t("keys.deleteHint")}</p>
      </ConfirmDialog>
    </>
  );
}
