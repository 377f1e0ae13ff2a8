import { Plus } from "lucide-react";
import { useState } from "react";
import { asCurl, call } from "@/api/client";
import { createSshKey, deleteSshKey } from "@/api/generated/operations";
import type { NewSshKey, SshKey } from "@/api/generated/types";
import { ownSshKeys } from "@/api/instances/details";
import { useAct, useLoaded } from "@/api/query";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { drawnLater } from "@/lib/later";
import { Button } from "@/ui/button";
import { ConfirmDialog } from "@/ui/dialog";
import { Empty, Panel, Row, Section } from "@/ui/page";
import { notify } from "@/ui/toast";

const AddSshKeyDialog = drawnLater(() => import("@/domain/ssh/add-key"));

/** Keys that open every instance whose terminal the person may open. */
export function SshKeysPage() {
  const { t } = useText();
  const keys = useLoaded(ownSshKeys);
  const [adding, setAdding] = useState(false);
  const add = useAct((body: NewSshKey, key) => call(createSshKey, { body }, { key }), {
    touches: [ownSshKeys.queryKey],
    onDone: ({ name }) => {
      setAdding(false);
      notify({ title: t("account.sshAdded", { name }) });
    },
  });
  return (
    <Section
      title={t("nav.accountSsh")}
      hint={t("account.sshHint")}
      actions={
        <Button onClick={() => setAdding(true)}>
          <Plus className="size-4" aria-hidden="true" />
          {t("account.sshAdd")}
        </Button>
      }
    >
      <Panel>
        {keys.map((key) => (
          <OneKey key={key.id} sshKey={key} />
        ))}
        {keys.length === 0 && <Empty title={t("account.sshEmpty")}>{t("account.sshEmptyHint")}</Empty>}
      </Panel>
      {adding && (
        <AddSshKeyDialog
          add={add}
          title={t("account.sshAdd")}
          hint={t("account.sshAddHint")}
          curlOf={(body) => asCurl(createSshKey, { body })}
          onClose={() => {
            add.reset();
            setAdding(false);
          }}
        />
      )}
    </Section>
  );
}

function OneKey({ sshKey }: { sshKey: SshKey }) {
  const { t } = useText();
  const now = useNow();
  const { day, relative } = useFormat();
  const [leaving, setLeaving] = useState(false);
  const { id, name } = sshKey;
  const remove = useAct((_: void, key) => call(deleteSshKey, { path: { id } }, { key }), {
    touches: [ownSshKeys.queryKey],
    onDone: () => notify({ title: t("account.sshDeleted", { name }) }),
  });
  return (
    <Row
      title={<span className="font-medium">{name}</span>}
      hint={
        <>
          <span className="block truncate font-mono">{sshKey.fingerprint}</span>
          <span className="num">
            {t("account.passkeyMade", { day: day(sshKey.created_at) })} ·{" "}
            {sshKey.last_used_at
              ? t("account.passkeyUsed", { when: relative(sshKey.last_used_at, now) })
              : t("account.passkeyUnused")}
          </span>
        </>
      }
    >
      <Button small aria-label={t("account.sshDeleteOf", { name })} onClick={() => setLeaving(true)}>
        {t("account.delete")}
      </Button>
      <ConfirmDialog
        open={leaving}
        onClose={() => {
          setLeaving(false);
          remove.reset();
        }}
        onConfirm={() => remove.run()}
        busy={remove.busy}
        error={remove.error}
        title={t("account.sshDeleteTitle", { name })}
        verb={t("account.delete")}
      >
        <p>{t("account.sshDeleteHint")}</p>
      </ConfirmDialog>
    </Row>
  );
}
