import { useState } from "react";
import { call } from "@/api/client";
import { deleteStorageCredential, takeOverStorageCredential } from "@/api/generated/operations";
import type { BucketCredential, StorageId } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useMe } from "@/api/session";
import { bucketKeys } from "@/api/storages/queries";
import { useWhyNot } from "@/app/roles";
import { useMakerName } from "@/domain/maker";
import { useText } from "@/i18n";
import { ConfirmDialog } from "@/ui/dialog";
import { ActionMenu } from "@/ui/menu";
import { notify } from "@/ui/toast";

export function KeyMenu({ storage, credential }: { storage: StorageId; credential: BucketCredential }) {
  const { t } = useText();
  const me = useMe();
  const makerOf = useMakerName();
  const [open, setOpen] = useState<"delete" | "take-over" | null>(null);
  const id = credential.access_key_id;
  const path = { id: storage, access_key_id: id };
  const whyNotDelete = useWhyNot("storages.write");
  const whyNotTake = useWhyNot("credentials.takeOver");
  const touches = [bucketKeys(storage).queryKey];
  const done = (title: string) => {
    setOpen(null);
    notify({ title });
  };
  const remove = useAct((_: void, key) => call(deleteStorageCredential, { path }, { key }), {
    touches,
    onDone: () => done(t("storages.keyDeleted")),
  });
  const take = useAct((_: void, key) => call(takeOverStorageCredential, { path }, { key }), {
    touches,
    onDone: () => done(t("storages.tookOver")),
  });
  const isOwn = credential.created_by === me.user.id && credential.created_by_key === null;
  return (
    <>
      <ActionMenu
        label={t("storages.keyActions", { id })}
        entries={[
          {
            key: "take-over",
            label: t("storages.takeOver"),
            disabled: whyNotTake || (isOwn && t("storages.isYours")),
            onSelect: () => setOpen("take-over"),
          },
          "line",
          {
            key: "delete",
            label: t("storages.deleteDots"),
            danger: true,
            disabled: whyNotDelete,
            onSelect: () => setOpen("delete"),
          },
        ]}
      />
      {open === "delete" && (
        <ConfirmDialog
          open
          onClose={() => setOpen(null)}
          onConfirm={() => remove.run()}
          busy={remove.busy}
          error={remove.error}
          title={t("storages.keyDeleteTitle", { id })}
          verb={t("storages.delete")}
        >
          <p>{t("storages.keyDeleteHint")}</p>
        </ConfirmDialog>
      )}
      {open === "take-over" && (
        <ConfirmDialog
          harmless
          open
          onClose={() => setOpen(null)}
          onConfirm={() => take.run()}
          busy={take.busy}
          error={take.error}
          title={t("storages.takeOverTitle", { id })}
          verb={t("storages.takeOverVerb")}
        >
          <p>{t("storages.takeOverHint", { name: makerOf(credential) })}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
