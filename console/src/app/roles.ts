import type { Me, Role } from "@/api/generated/types";
import { useMe } from "@/api/session";
import { type Text, useText } from "@/i18n";
import { type Action, refusalOf } from "@/lib/can";

/** The role inside a sentence. */
export const roleWord = (role: Role, t: Text) =>
  ({ owner: t("nav.roleOwner"), member: t("nav.roleMember"), viewer: t("nav.roleViewer") })[role];

/** Why the caller may not, as a sentence; false if they may. For `disabled` of buttons. */
export function whyNot(me: Me, action: Action, t: Text): string | false {
  switch (refusalOf(me, action)) {
    case null:
      return false;
    case "needs-owner":
      return t("ui.needsOwner");
    case "needs-member":
      return t("ui.needsMember");
    case "no-tenant":
      return t("ui.needsTenant");
  }
}

export function useWhyNot(action: Action): string | false {
  const { t } = useText();
  return whyNot(useMe(), action, t);
}
