import { useState } from "react";
import { call } from "@/api/client";
import {
  createPasskey,
  createPasskeyRegistration,
  deletePasskey,
  updatePasskey,
} from "@/api/generated/operations";
import type { Passkey } from "@/api/generated/types";
import { useAct, useLoaded } from "@/api/query";
import { credentialOf, hasPasskeys, PasskeyCancelled } from "@/features/sign-in/passkey";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { ConfirmDialog } from "@/ui/dialog";
import { ActionMenu } from "@/ui/menu";
import { NameDialog } from "@/ui/name-dialog";
import { Empty, Panel, Row, Section } from "@/ui/page";
import { notify } from "@/ui/toast";
import { passkeys } from "./queries";

const LONGEST = 100;

export function Passkeys() {
  const { t } = useText();
  const { items } = useLoaded(passkeys);
  const [open, setOpen] = useState(false);
  return (
    <Section
      title={t("account.passkeys")}
      hint={t("account.passkeysHint")}
      actions={
        <Button disabled={!hasPasskeys() && t("signIn.passkeyNone")} onClick={() => setOpen(true)}>
          {t("account.passkeyAdd")}
        </Button>
      }
    >
      <Panel>
        {items.map((passkey) => (
          <OnePasskey key={passkey.id} passkey={passkey} />
        ))}
        {items.length === 0 && (
          <Empty title={t("account.passkeysEmpty")}>{t("account.passkeysEmptyHint")}</Empty>
        )}
      </Panel>
      {open && <AddDialog onClose={() => setOpen(false)} />}
    </Section>
  );
}

function AddDialog({ onClose }: { onClose: () => void }) {
  const { t } = useText();
  const add = useAct(
    async (name: string, key) => {
      const { public_key } = await call(createPasskeyRegistration);
      const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
        public_key as unknown as PublicKeyCredentialCreationOptionsJSON,
      );
      const credential = await credentialOf(navigator.credentials.create({ publicKey }));
      return call(createPasskey, { body: { name, credential } }, { key });
    },
    {
      touches: [passkeys.queryKey],
      onDone: ({ name }) => {
        onClose();
        notify({ title: t("account.passkeyAdded", { name }) });
      },
    },
  );
  const isCancelled = add.error instanceof PasskeyCancelled;
  return (
    <NameDialog
      onClose={onClose}
      title={t("account.passkeyAdd")}
      hint={isCancelled ? t("signIn.passkeyCancelled") : t("account.passkeyNameHint")}
      verb={t("account.passkeyAdd")}
      label={t("account.name")}
      longest={LONGEST}
      wrong={t("account.nameMissing")}
      busy={add.busy}
      error={isCancelled ? null : add.error}
      onSend={add.run}
    />
  );
}

function OnePasskey({ passkey }: { passkey: Passkey }) {
  const { t } = useText();
  const now = useNow();
  const { day, relative } = useFormat();
  const [open, setOpen] = useState<"rename" | "delete" | null>(null);
  const close = () => setOpen(null);
  const { id, name } = passkey;
  const rename = useAct(
    (next: string, key) =>
      call(updatePasskey, { path: { id }, headers: { "If-Match": "*" }, body: { name: next } }, { key }),
    { touches: [passkeys.queryKey], onDone: close },
  );
  const remove = useAct((_: void, key) => call(deletePasskey, { path: { id } }, { key }), {
    touches: [passkeys.queryKey],
    onDone: () => notify({ title: t("account.passkeyDeleted", { name }) }),
  });
  const used = passkey.last_used_at
    ? t("account.passkeyUsed", { when: relative(passkey.last_used_at, now) })
    : t("account.passkeyUnused");
  return (
    <Row
      title={<span className="font-medium">{name}</span>}
      hint={
        <span className="num">
          {t("account.passkeyMade", { day: day(passkey.created_at) })} · {used}
        </span>
      }
    >
      <ActionMenu
        label={t("account.passkeyActions", { name })}
        entries={[
          { key: "rename", label: t("account.rename"), onSelect: () => setOpen("rename") },
          {
            key: "delete",
            label: t("account.passkeyDelete"),
            danger: true,
            onSelect: () => setOpen("delete"),
          },
        ]}
      />
      {open === "rename" && (
        <NameDialog
          onClose={close}
          title={t("account.renameTitle", { name })}
          initial={name}
          label={t("account.name")}
          longest={LONGEST}
          wrong={t("account.nameMissing")}
          busy={rename.busy}
          error={rename.error}
          onSend={rename.run}
        />
      )}
      <ConfirmDialog
        open={open === "delete"}
        onClose={close}
        onConfirm={() => remove.run()}
        busy={remove.busy}
        error={remove.error}
        title={t("account.passkeyDeleteTitle", { name })}
        verb={t("account.delete")}
      >
        <p>{t("account.passkeyDeleteHint")}</p>
      </ConfirmDialog>
    </Row>
  );
}
