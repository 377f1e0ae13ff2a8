import { useState } from "react";
import { asCurl, call } from "@/api/client";
import { createStorageCredential } from "@/api/generated/operations";
import type { NewBucketCredential, StorageId } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { bucketKeys } from "@/api/storages/queries";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { CopyBox, CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { ShownOnce } from "@/ui/shown-once";
import { ClientConfig } from "./client-config";
import type { Program } from "./config";

/** What a key opens, before it is made. */
export function NewKeyDialog({
  id,
  onClose,
  onMade,
}: {
  id: StorageId;
  onClose: () => void;
  onMade: (made: NewBucketCredential) => void;
}) {
  const { t } = useText();
  const path = { id };
  const make = useAct((_: void, key) => call(createStorageCredential, { path }, { key }), {
    touches: [bucketKeys(id).queryKey],
    onDone: onMade,
  });
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={() => make.run()}
      title={t("storages.newKeyTitle")}
      description={t("storages.newKeyHint")}
      footer={
        <>
          <CopyCurl command={asCurl(createStorageCredential, { path })} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={make.busy}>
            {t("storages.newKey")}
          </Button>
        </>
      }
    >
      {make.error != null && <ErrorLine error={make.error} />}
    </Dialog>
  );
}

/** The secret, once, with configurations that have it in them. */
export function KeyMadeDialog({ made, onClose }: { made: NewBucketCredential; onClose: () => void }) {
  const { t } = useText();
  const [program, setProgram] = useState<Program>("rclone");
  const { access_key_id: id, secret_access_key: secret, bucket: name, endpoint, region } = made;
  return (
    <ShownOnce open title={t("storages.keyMadeTitle")} onClose={onClose}>
      <p className="mb-1 text-ink-3 text-xs">{t("storages.keyId")}</p>
      <CopyBox text={id} label={t("storages.copyKeyId")} />
      {secret === null ? (
        <p className="mt-3 text-sm text-vermilion">{t("storages.keyNoSecret")}</p>
      ) : (
        <>
          <p className="mt-3 mb-1 text-ink-3 text-xs">{t("storages.keySecret")}</p>
          <CopyBox text={secret} label={t("storages.copySecret")} />
          <p className="mt-5 font-medium text-sm">{t("storages.config")}</p>
          <p className="mb-2 text-ink-3 text-xs">{t("storages.configFull")}</p>
          <ClientConfig
            bucket={{ name, endpoint, region }}
            credentials={{ id, secret }}
            program={program}
            onProgram={setProgram}
          />
        </>
      )}
    </ShownOnce>
  );
}
