import type { AdminAction } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Panel } from "@/ui/page";
import { PersonLink } from "./links";

/** What administrators did to a thing, and why. */
export function ActionRows({ items }: { items: readonly AdminAction[] }) {
  const { t } = useText();
  const { clock } = useFormat();
  const words: Record<string, string> = {
    stop_instance: t("fleet.didStop"),
    delete_instance: t("fleet.didDelete"),
    delete_storage: t("fleet.didDelete"),
  };
  return (
    <Panel>
      {items.length === 0 && <p className="px-4 py-3 text-ink-2 text-sm">{t("fleet.noActions")}</p>}
      <ul>
        {items.map((it) => (
          <li
            key={it.id}
            className="grid gap-x-4 gap-y-0.5 border-line border-b px-4 py-2 text-sm last:border-b-0 md:grid-cols-[8.5rem_6rem_minmax(0,1fr)_auto]"
          >
            <span className="num text-ink-3">{clock(it.at)}</span>
            <span className="font-medium">{words[it.action] ?? it.action}</span>
            <span className="break-words">{it.reason}</span>
            <span className="text-ink-2">
              <PersonLink id={it.user_id} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
