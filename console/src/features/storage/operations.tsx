import type { Operation, StorageId } from "@/api/generated/types";
import { useLoaded, useLoadedPages } from "@/api/query";
import { storage, storageOperations } from "@/api/storages/queries";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Empty } from "@/ui/page";
import { type Column, Table } from "@/ui/table";
import { OperationKind, OperationStanding, OperationTime } from "./operation-parts";

/** What was asked of it, newest first: how far each is, and why it failed. */
export function OperationsPage({ id }: { id: StorageId }) {
  const { t } = useText();
  const { seconds } = useFormat();
  const it = useLoaded(storage(id));
  const list = useLoadedPages(storageOperations(id));
  const items = list.data.pages.flatMap((page) => page.items);
  const what = (one: Operation) => <OperationKind one={one} />;
  const asked = (one: Operation) => <span className="num text-ink-2 text-sm">{seconds(one.created_at)}</span>;
  const columns: Column<Operation>[] = [
    { key: "what", label: t("storages.opWhat"), width: "7rem", cell: what },
    {
      key: "state",
      label: t("storages.opState"),
      width: "minmax(12rem, 1fr)",
      cell: (one) => <OperationStanding one={one} />,
    },
    { key: "asked", label: t("storages.opAsked"), width: "11rem", cell: asked },
    {
      key: "took",
      label: t("storages.opTook"),
      width: "6rem",
      end: true,
      cell: (one) => <OperationTime one={one} />,
    },
  ];
  return (
    <Table
      label={t("storages.operationsOf", { name: it.name })}
      items={items}
      columns={columns}
      rowKey={(one) => one.id}
      rowHeight={44}
      onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
      empty={<Empty title={t("storages.opNone")}>{t("storages.opNoneHint")}</Empty>}
      footer={t("storages.opNoActor")}
      narrow={(one) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 gap-y-1">
          {what(one)}
          <OperationTime one={one} />
          <div className="col-span-2">
            <OperationStanding one={one} />
          </div>
          <div className="col-span-2">{asked(one)}</div>
        </div>
      )}
    />
  );
}
