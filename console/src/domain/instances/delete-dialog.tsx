import { useQuery, useQueryClient } from "@tanstack/react-query";
import { storages } from "@/api/catalogue";
import type { Instance } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { monthlyOf } from "@/lib/money";
import { ConfirmDialog } from "@/ui/dialog";
import { actOn } from "./acts";

/** Says what is lost and what stays, and goes on costing. */
export default function DeleteDialog({
  it,
  onClose,
  onDone,
}: {
  it: Instance;
  onClose: () => void;
  onDone?: () => void;
}) {
  const { t } = useText();
  const client = useQueryClient();
  const remove = useAct((one: Instance) => actOn(client, "delete", one.id), {
    onDone: () => {
      onClose();
      onDone?.();
    },
  });
  return (
    <ConfirmDialog
      open
      onClose={() => {
        remove.reset();
        onClose();
      }}
      onConfirm={() => remove.run(it)}
      busy={remove.busy}
      error={remove.error}
      title={t("instances.deleteTitle", { name: it.name })}
      verb={t("instances.delete")}
    >
      <p>{it.state === "running" ? t("instances.deleteRunning") : t("instances.deleteLost")}</p>
      <Stays of={[it]} />
    </ConfirmDialog>
  );
}

/** What stays after the instances are gone. */
export function Stays({ of }: { of: readonly Instance[] }) {
  const { t } = useText();
  const { total, list } = useFormat();
  const ids = new Set(of.flatMap((it) => it.storages.map((one) => one.storage_id)));
  const { data } = useQuery({ ...storages, enabled: ids.size > 0 });
  if (ids.size === 0) return <p>{t("instances.nothingStays")}</p>;
  const kept = data?.filter((storage) => ids.has(storage.id));
  if (!kept || kept.length === 0) return <p>{t("instances.storagesStay")}</p>;
  return (
    <p>{t("instances.stays", { names: list(kept.map((it) => it.name)), price: total(monthlyOf(kept)) })}</p>
  );
}
