import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Storage } from "@/api/generated/types";
import { storageOperations } from "@/api/storages/queries";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Panel, Section } from "@/ui/page";
import { OperationKind, OperationStanding } from "./operation-parts";

/** So many are shown; the tab has all. */
const MOST = 3;

export function LatestOperations({ it }: { it: Storage }) {
  const { t } = useText();
  const { time } = useFormat();
  const { data } = useInfiniteQuery(storageOperations(it.id));
  const items = data?.pages[0]?.items.slice(0, MOST) ?? [];
  if (items.length === 0) return null;
  return (
    <Section
      title={t("storages.latest")}
      actions={
        <Link
          to="/storages/$id/operations"
          params={{ id: it.id }}
          className="text-sm text-ultra hover:underline"
        >
          {t("storages.allOperations")}
        </Link>
      }
    >
      <Panel>
        {items.map((one) => (
          <div
            key={one.id}
            className="grid grid-cols-[5rem_minmax(0,1fr)_auto] items-baseline gap-x-4 gap-y-1 border-line border-b px-4 py-2.5 last:border-b-0"
          >
            <OperationKind one={one} />
            <div className="max-md:order-last max-md:col-span-full">
              <OperationStanding one={one} />
            </div>
            <span className="num text-right text-ink-3 text-xs max-md:col-span-2">
              {time(one.created_at)}
            </span>
          </div>
        ))}
      </Panel>
    </Section>
  );
}
