import { useState } from "react";
import { call } from "@/api/client";
import { deleteMqCredential, takeOverMqCredential } from "@/api/generated/operations";
import type { MqCredential } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useMe } from "@/api/session";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { ConfirmDialog } from "@/ui/dialog";
import { ActionMenu } from "@/ui/menu";
import { notify } from "@/ui/toast";
import { credentials } from "./queries";

export function CredentialMenu({ it }: { it: MqCredential }) {
  const { t } = useText();
  const me = useMe();
  const reason = useWhyNot("queue.write");
  const ownersOnly = useWhyNot("queue.takeOver");
  const [asked, setAsked] = useState<"takeOver" | "delete" | null>(null);
  const close = () => setAsked(null);
  return (
    <>
      <ActionMenu
        label={t("queue.actions", { name: it.name })}
        entries={[
          ...(it.created_by === me.user.id
            ? []
            : [
                {
                  key: "take-over",
                  label: t("queue.takeOver"),
                  disabled: ownersOnly,
                  onSelect: () => setAsked("takeOver"),
                },
              ]),
          {
            key: "delete",
            label: t("queue.delete"),
            danger: true,
            disabled: reason,
            onSelect: () => setAsked("delete"),
          },
        ]}
      />
      {asked === "takeOver" && <TakeOver it={it} onClose={close} />}
      {asked === "delete" && <Remove it={it} onClose={close} />}
    </>
  );
}

interface Props {
  it: MqCredential;
  onClose: () => void;
}

function TakeOver({ it: { id, name }, onClose }: Props) {
  const { t } = useText();
  const take = useAct((_: void, key) => call(takeOverMqCredential, { path: { id } }, { key }), {
    touches: [credentials.queryKey],
    onDone: () => {
      onClose();
      notify({ title: t("queue.takenOver", { name }) });
    },
  });
  return (
    <ConfirmDialog
      open
      harmless
      onClose={onClose}
      onConfirm={() => take.run()}
      busy={take.busy}
      error={take.error}
      title={t("queue.takeOverTitle", { name })}
      verb={t("queue.takeOverVerb")}
    >
      <p>{t("queue.takeOverHint")}</p>
      <p>{t("queue.takeOverSecret")}</p>
    </ConfirmDialog>
  );
}

function Remove({ it: { id, name }, onClose }: Props) {
  const { t } = useText();
  const remove = useAct((_: void, key) => call(deleteMqCredential, { path: { id } }, { key }), {
    touches: [credentials.queryKey],
    onDone: () => {
      onClose();
      notify({ title: t("queue.deleted", { name }) });
    },
  });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => remove.run()}
      busy={remove.busy}
      error={remove.error}
      title={t("queue.deleteTitle", { name })}
      verb={t("queue.deleteVerb")}
    >
      <p>{t("queue.deleteHint")}</p>
    </ConfirmDialog>
  );
}
