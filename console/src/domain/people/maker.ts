import { useQuery } from "@tanstack/react-query";
import type { ApiKeyId, UserId } from "@/api/generated/types";
import { people } from "@/api/instances/details";
import { useMe } from "@/api/session";
import { useText } from "@/i18n";

interface Made {
  created_by: UserId | null;
  created_by_key: ApiKeyId | null;
}

/** Who has made it, for a person: its rights end with theirs. */
export function useMakerName(): (made: Made) => string {
  const { t } = useText();
  const me = useMe();
  const { data: names } = useQuery({
    ...people(me.tenant_id as NonNullable<typeof me.tenant_id>),
    enabled: me.tenant_id !== null,
  });
  return ({ created_by, created_by_key }) => {
    if (created_by === null) return t("ui.byPlatform");
    const name = names ? (names.get(created_by) ?? t("ui.formerMember")) : "–";
    return created_by_key ? t("ui.throughKey", { name }) : name;
  };
}
