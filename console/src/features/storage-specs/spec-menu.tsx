import { useState } from "react";
import { call } from "@/api/client";
import { deleteStorageSpec, updateStorageSpec } from "@/api/generated/operations";
import type { StorageSpec, StorageSpecState } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { ConfirmDialog } from "@/ui/dialog";
import { describe } from "@/ui/error";
import { ActionMenu } from "@/ui/menu";
import { notify } from "@/ui/toast";

export function StorageSpecMenu({ spec, onEdit }: { spec: StorageSpec; onEdit: () => void }) {
  const { t } = useText();
  const [asks, setAsks] = useState<"retire" | "delete" | null>(null);
  const { name } = spec;
  const path = { id: spec.id };
  const setState = useAct(
    (state: StorageSpecState, key) =>
      call(updateStorageSpec, { path, headers: { "If-Match": "*" }, body: { state } }, { key }),
    {
      touches: [["storage-specs"]],
      onDone: (_, state) => {
        setAsks(null);
        notify({
          title: t(state === "retired" ? "catalogue.specRetired" : "catalogue.specOffered", { name }),
        });
      },
      onFailed: (error, state) => {
        if (state === "active") notify({ failed: true, title: name, detail: describe(error, t) });
      },
    },
  );
  const remove = useAct((_: void, key) => call(deleteStorageSpec, { path }, { key }), {
    touches: [["storage-specs"]],
    onDone: () => {
      setAsks(null);
      notify({ title: t("catalogue.deleted", { name }) });
    },
  });
  const close = () => {
    setAsks(null);
    setState.reset();
    remove.reset();
  };
  return (
    <>
      <ActionMenu
        label={t("catalogue.actions", { name })}
        entries={[
          { key: "edit", label: t("catalogue.change"), onSelect: onEdit },
          "line",
          spec.state === "active"
            ? { key: "retire", label: t("catalogue.retire"), onSelect: () => setAsks("retire") }
            : { key: "offer", label: t("catalogue.offerAgain"), onSelect: () => setState.run("active") },
          { key: "delete", label: t("catalogue.delete"), danger: true, onSelect: () => setAsks("delete") },
        ]}
      />
      <ConfirmDialog
        harmless
        open={asks === "retire"}
        onClose={close}
        onConfirm={() => setState.run("retired")}
        busy={setState.busy}
        error={setState.error}
        title={t("catalogue.retireTitle", { name })}
        verb={t("catalogue.retireVerb")}
      >
        <p>{t("catalogue.retireStorageHint")}</p>
      </ConfirmDialog>
      <ConfirmDialog
        open={asks === "delete"}
        onClose={close}
        onConfirm={() => remove.run()}
        busy={remove.busy}
        error={remove.error}
        title={t("catalogue.deleteTitle", { name })}
        verb={t("catalogue.deleteVerb")}
      >
        <p>{t("catalogue.deleteStorageHint")}</p>
      </ConfirmDialog>
    </>
  );
}
