import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { storages } from "@/api/catalogue";
import type { Instance } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { monthlyOf } from "@/lib/money";
import { Panel, Section } from "@/ui/page";

/** Mounted storages with path and price. The API has no usage of volumes. */
export function Storages({ it }: { it: Instance }) {
  const { t } = useText();
  const { total } = useFormat();
  const { data, isError } = useQuery({ ...storages, enabled: it.storages.length > 0 });
  return (
    <Section title={t("instance.storages")}>
      <Panel>
        {it.storages.length === 0 && <p className="p-3 text-ink-2 text-sm">{t("instance.noStorage")}</p>}
        {it.storages.map((one) => {
          const storage = data?.find((known) => known.id === one.storage_id);
          if (!data && !isError) return <div key={one.storage_id} className="h-15" />;
          return (
            <div key={one.storage_id} className="border-line border-b px-3 py-2.5 last:border-b-0">
              <div className="flex justify-between gap-2 text-sm">
                <Link
                  to="/storages/$id"
                  params={{ id: one.storage_id }}
                  className="truncate font-medium hover:text-ultra hover:underline"
                >
                  {storage?.name ?? shortId(one.storage_id)}
                </Link>
                <span className="num shrink-0 text-ink-2">
                  {one.read_only
                    ? t("instance.readOnly")
                    : storage && t("instance.perMonth", { price: total(monthlyOf([storage])) })}
                </span>
              </div>
              <div className="flex justify-between gap-2 text-ink-3 text-xs">
                <span className="num">{storage && t("instance.gib", { size: storage.size_gib })}</span>
                <span className="truncate font-mono">{one.mount_path}</span>
              </div>
            </div>
          );
        })}
      </Panel>
    </Section>
  );
}
