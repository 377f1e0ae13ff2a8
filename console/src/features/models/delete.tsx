import { useQuery, useQueryClient } from "@tanstack/react-query";
import { storages } from "@/api/catalogue";
import { call } from "@/api/client";
import { deleteModel } from "@/api/generated/operations";
import type { Model } from "@/api/generated/types";
import { deployments, modelsKey } from "@/api/models";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { ConfirmDialog } from "@/ui/dialog";
import { notify } from "@/ui/toast";

export default function DeleteDialog({
  it,
  onClose,
  onDone,
}: {
  it: Model;
  onClose: () => void;
  onDone?: () => void;
}) {
  const { t } = useText();
  const { bytes, list } = useFormat();
  const client = useQueryClient();
  const { data: laid } = useQuery(deployments(it.id));
  const { data: volumes } = useQuery(storages);
  const remove = useAct((_: void, key) => call(deleteModel, { path: { id: it.id } }, { key }), {
    onDone: () => {
      notify({ title: t("models.deleted", { name: it.name }) });
      onClose();
      onDone?.();
      // the page of the model is left first: it does not exist any more
      void client.invalidateQueries({ queryKey: [...modelsKey, "list"] });
    },
  });
  const there = (laid?.items ?? []).filter((one) => one.state === "deployed");
  const names = [...new Set(there.map((one) => one.storage_id))].map(
    (id) => volumes?.find((one) => one.id === id)?.name ?? t("models.layGone"),
  );
  const moving = (laid?.items ?? []).filter((one) => one.state === "pending").length;
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => remove.run()}
      busy={remove.busy}
      error={remove.error}
      title={t("models.deleteTitle", { name: it.name })}
      verb={t("models.deleteVerb")}
      typed={it.name}
    >
      <p>{t("models.deleteLost", { size: bytes(it.bytes) })}</p>
      <p>{t("models.deleteJobs")}</p>
      {names.length > 0 && <p>{t("models.deleteStays", { storages: list(names) })}</p>}
      {moving > 0 && <p>{t("models.deleteEnds", { count: moving })}</p>}
    </ConfirmDialog>
  );
}
