import type { EventActor, UserId } from "@/api/generated/types";
import { useMe } from "@/api/session";
import { useText } from "@/i18n";

/** Who did it, for a person; nothing for the platform itself. */
export function useActorName(names: ReadonlyMap<UserId, string> | undefined) {
  const { t } = useText();
  const me = useMe();
  return (actor: EventActor): string | null => {
    switch (actor.kind) {
      case "user":
        if (actor.user_id === me.user.id) return me.user.display_name;
        return names?.get(actor.user_id) ?? (names ? t("ui.formerMember") : null);
      case "administrator":
        return t("ui.administrator");
      case "service":
        return actor.name;
      case "system":
        return null;
    }
  };
}
