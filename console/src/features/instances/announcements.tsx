import type { Instance } from "@/api/generated/types";
import { isMoving, standingOf } from "@/domain/instances/standing";
import { useText } from "@/i18n";
import { ChangesSaid } from "@/ui/changes-said";

/** Says what has come to rest or runs now, and not each step of the way. */
export function Announcements({ items }: { items: readonly Instance[] }) {
  const { t } = useText();
  return (
    <ChangesSaid
      items={items.map((it) => ({
        id: it.id,
        state: it.state,
        rests: !isMoving(it),
        text: t("instances.changed", { name: it.name, state: t(standingOf(it).word) }),
      }))}
    />
  );
}
