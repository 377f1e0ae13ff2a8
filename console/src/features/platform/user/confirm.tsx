import { useNavigate } from "@tanstack/react-router";
import { call } from "@/api/client";
import { deleteUser, resetPasskeys, resetTotp, updateUser } from "@/api/generated/operations";
import type { User } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { sessionChanged, useMe } from "@/api/session";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { ConfirmDialog } from "@/ui/dialog";
import { notify } from "@/ui/toast";
import type { Confirmed } from "./dialog-names";
import type { UserDialogProps } from "./dialog-props";

const sends: Record<Confirmed, (it: User, key: string) => Promise<unknown>> = {
  disable: ({ id }, key) => call(updateUser, { path: { id }, body: { disabled: true } }, { key }),
  enable: ({ id }, key) => call(updateUser, { path: { id }, body: { disabled: false } }, { key }),
  admin: ({ id, admin }, key) => call(updateUser, { path: { id }, body: { admin: !admin } }, { key }),
  totp: ({ id }, key) => call(resetTotp, { path: { id } }, { key }),
  passkeys: ({ id }, key) => call(resetPasskeys, { path: { id } }, { key }),
  delete: ({ id }, key) => call(deleteUser, { path: { id } }, { key }),
};

/** What needs no more than a yes, with what it does. */
export default function ConfirmUserDialog({
  it,
  act,
  owned,
  onClose,
}: UserDialogProps & { act: Confirmed; owned: readonly string[] }) {
  const navigate = useNavigate();
  const me = useMe();
  const isSelf = it.id === me.user.id;
  const text = useWords(it, act, isSelf, owned);
  const isLeaving = isSelf && act === "admin";
  const all = act === "delete" ? ["platform", "users", "list"] : ["platform", "users"];
  const touched = isLeaving ? [] : [all];
  const run = useAct((_: void, key) => sends[act](it, key), {
    touches: touched,
    onDone: () => {
      // without the right, this page is not there any more
      if (isLeaving) return sessionChanged("session-changed");
      notify({ title: text.done });
      if (act === "delete") void navigate({ to: "/admin/users", search: {} });
      else onClose();
    },
  });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => run.run()}
      busy={run.busy}
      error={run.error}
      title={text.title}
      verb={text.verb}
      harmless={act === "enable" || (act === "admin" && !it.admin)}
      {...(act === "delete" && { typed: it.email })}
    >
      {text.lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
    </ConfirmDialog>
  );
}

interface Words {
  title: string;
  verb: string;
  done: string;
  lines: string[];
}

function useWords(it: User, act: Confirmed, isSelf: boolean, owned: readonly string[]): Words {
  const { t } = useText();
  const { list } = useFormat();
  const name = it.display_name;
  const ownerOf = owned.length > 0 ? [t("users.ownerOf", { name, names: list(owned) })] : [];
  switch (act) {
    case "disable":
      return {
        title: t("users.disableTitle", { name }),
        verb: t("users.disable"),
        done: t("users.disabledDone", { name }),
        lines: [t("users.disableHint"), t("users.disableStays"), ...ownerOf],
      };
    case "enable":
      return {
        title: t("users.enableTitle", { name }),
        verb: t("users.enable"),
        done: t("users.enabledDone", { name }),
        lines: [t("users.enableHint")],
      };
    case "admin":
      if (!it.admin)
        return {
          title: t("users.giveAdminTitle", { name }),
          verb: t("users.giveAdmin"),
          done: t("users.adminGiven", { name }),
          lines: [t("users.adminHint"), t("users.giveAdminHint")],
        };
      return {
        title: isSelf ? t("users.ownAdminTitle") : t("users.takeAdminTitle", { name }),
        verb: isSelf ? t("users.ownAdminVerb") : t("users.takeAdmin"),
        done: t("users.adminTaken", { name }),
        lines: [isSelf ? t("users.ownAdminHint") : t("users.takeAdminHint", { name })],
      };
    case "totp":
      return {
        title: t("users.totpTitle", { name }),
        verb: t("users.totpVerb"),
        done: t("users.totpDone", { name }),
        lines: [t("users.totpHint"), t("users.askFirst")],
      };
    case "passkeys":
      return {
        title: t("users.passkeysTitle", { name }),
        verb: t("users.passkeysVerb"),
        done: t("users.passkeysDone", { name }),
        lines: [t("users.passkeysLost"), t("users.askFirst")],
      };
    case "delete":
      return {
        title: t("users.deleteTitle", { name }),
        verb: t("users.delete"),
        done: t("users.deleted", { name }),
        lines: [t("users.deleteHint"), ...ownerOf],
      };
  }
}
