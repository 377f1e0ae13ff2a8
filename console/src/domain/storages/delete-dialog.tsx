import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { deleteStorage } from "@/api/generated/operations";
import type { Storage } from "@/api/generated/types";
import { instances } from "@/api/instances/queries";
import { ApiError } from "@/api/problem";
import { useAct } from "@/api/query";
import { keys, putStorage } from "@/api/storages/cache";
import { storage } from "@/api/storages/queries";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { ConfirmDialog, Dialog } from "@/ui/dialog";
import { notify } from "@/ui/toast";
import { useStorageText } from "./describe";
import { MountList } from "./mount-list";

/** Taking a storage off an instance takes the platform a moment. */
const LOOK = 2000;

interface Props {
  it: Storage;
  onClose: () => void;
  onDone?: (() => void) | undefined;
}

/** While instances mount it: which. Else what is lost and what stays, and its name to type. */
export default function DeleteDialog({ it: given, ...rest }: Props) {
  const isMounted = (it: Storage | undefined) => (it ?? given).attachments.length > 0;
  const { data } = useQuery({
    ...storage(given.id),
    refetchInterval: (query) => isMounted(query.state.data) && LOOK,
  });
  const it = data ?? given;
  return isMounted(it) ? <InUse it={it} onClose={rest.onClose} /> : <Ask it={it} {...rest} />;
}

function InUse({ it, onClose }: { it: Storage; onClose: () => void }) {
  const { t } = useText();
  const { data } = useInfiniteQuery(instances());
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("storages.inUseTitle", { name: it.name })}
      description={t("storages.inUseHint", { count: it.attachments.length })}
      footer={<Button onClick={onClose}>{t("ui.close")}</Button>}
    >
      <MountList it={it} instances={data?.pages.flatMap((page) => page.items) ?? []} />
    </Dialog>
  );
}

function Ask({ it, onClose, onDone }: Props) {
  const { t } = useText();
  const text = useStorageText();
  const client = useQueryClient();
  const remove = useAct((_: void, key) => call(deleteStorage, { path: { id: it.id } }, { key }), {
    onDone: (answer) => {
      putStorage(client, answer);
      void client.invalidateQueries({ queryKey: ["storage-operations", it.id] });
      notify({ title: t("storages.deleted", { name: it.name }) });
      onClose();
      onDone?.();
    },
    // mounted meanwhile: the dialog then says by which instance
    onFailed: (error) => {
      if (error instanceof ApiError && error.is("storage-in-use"))
        void client.invalidateQueries({ queryKey: keys.one(it.id) });
    },
  });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => remove.run()}
      busy={remove.busy}
      error={remove.error}
      title={t("storages.deleteTitle", { name: it.name })}
      verb={t("storages.delete")}
      typed={it.name}
    >
      <p>{t("storages.deleteLost")}</p>
      {it.kind === "bucket" && <p>{t("storages.deleteKeys")}</p>}
      <p>{t("storages.deleteStays", { price: text.price(it) })}</p>
    </ConfirmDialog>
  );
}
