import { Link } from "@tanstack/react-router";
import type { Repair, RepairKind } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Panel } from "@/ui/page";

export function RepairList({ items }: { items: readonly Repair[] }) {
  const { t } = useText();
  const { clock } = useFormat();
  const words: Record<RepairKind, string> = {
    object_missing: t("stock.objectMissing"),
    object_orphaned: t("stock.objectOrphaned"),
    object_adopted: t("stock.objectAdopted"),
    object_altered: t("stock.objectAltered"),
    status_missed: t("stock.statusMissed"),
    counts: t("stock.countsWrong"),
  };
  return (
    <Panel>
      <ul className="divide-y divide-line">
        {items.map((it) => (
          <li
            key={it.id}
            className="num grid min-h-9 grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 px-4 py-1.5 text-sm"
          >
            <span className="min-w-0">
              <span className="font-medium">{words[it.kind]}</span>
              {it.cluster && <span className="text-ink-2"> · {it.cluster}</span>}
              <span className="block break-words text-ink-3 text-xs">
                {it.detail}{" "}
                {it.unit_id && (
                  <Link to="/admin/units/$id" params={{ id: it.unit_id }} className="text-ultra underline">
                    {t("stock.seeUnit")}
                  </Link>
                )}
              </span>
            </span>
            <span className="whitespace-nowrap text-ink-3 text-xs">{clock(it.at)}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
