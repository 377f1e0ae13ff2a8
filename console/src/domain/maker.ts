import { useQuery } from "@tanstack/react-query";
import type { ApiKeyId, UserId } from "@/api/generated/types";
import { people } from "@/api/instances/details";
import { useMe } from "@/api/session";
import { useTenant } from "@/app/needs-tenant";
import { useText } from "@/i18n";

interface Made {
  created_by: UserId | null;
  created_by_key: ApiKeyId | null;
}

/** Who has made it, for a person: it ends with their rights. What was made before makers were recorded is the studio's. */
export function useMakerName(): (it: Made) => string {
  const { t } = useText();
  const me = useMe();
  const { data: names } = useQuery(people(useTenant()));
  return ({ created_by, created_by_key }) => {
    if (!created_by) return t("ui.makerStudio");
    const name =
      created_by === me.user.id
        ? me.user.display_name
        : (names?.get(created_by) ?? (names ? t("ui.formerMember") : ""));
    return created_by_key ? t("ui.throughKey", { name }) : name;
  };
}
