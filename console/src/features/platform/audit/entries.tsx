import type { AuditEntry } from "@/api/generated/types";
import type { LogEntry } from "@/domain/audit/newest";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { CopyIconButton } from "@/ui/copy";
import { Empty } from "@/ui/page";
import { type Column, Table } from "@/ui/table";
import { PersonLink } from "../parts/links";
import { RowsFooter } from "../parts/rows-footer";
import type { Log } from "./logs";
import { useLogWords } from "./words";

type Row = LogEntry<Log>;

/** Who did what, from where, and whether it was allowed. */
export function EntryTable({
  items,
  isLoadingMore,
  onEnd,
}: {
  items: readonly Row[];
  isLoadingMore: boolean;
  onEnd: (() => void) | undefined;
}) {
  const { t } = useText();
  const { seconds } = useFormat();
  const words = useLogWords();
  const request = ({ request_id }: Row) =>
    request_id && <CopyIconButton text={request_id} label={t("ui.copyRequest")} />;
  const columns: Column<Row>[] = [
    {
      key: "at",
      label: t("audit.at"),
      width: "9rem",
      cell: ({ at }) => <span className="num text-sm">{seconds(at)}</span>,
    },
    { key: "who", label: t("audit.who"), width: "minmax(8rem, 0.9fr)", cell: (row) => <Who item={row} /> },
    {
      key: "what",
      label: t("audit.what"),
      width: "minmax(14rem, 2.3fr)",
      cell: (row) => <What item={row} />,
    },
    { key: "status", label: t("audit.status"), width: "3.5rem", cell: (row) => <Status item={row} /> },
    {
      key: "from",
      label: t("audit.from"),
      width: "7.25rem",
      cell: ({ address }) => (
        <span className="block truncate font-mono text-ink-2 text-xs">{address ?? "–"}</span>
      ),
    },
    {
      key: "log",
      label: t("audit.log"),
      width: "5.5rem",
      cell: (row) => <span className="text-ink-2 text-sm">{words[row.log]}</span>,
    },
    {
      key: "request",
      label: t("ui.copyRequest"),
      hiddenLabel: true,
      width: "1.75rem",
      end: true,
      cell: request,
    },
  ];
  return (
    <Table
      label={t("audit.title")}
      items={items}
      columns={columns}
      rowKey={({ log, hash }) => `${log}-${hash}`}
      rowHeight={36}
      onEnd={onEnd}
      footer={<RowsFooter count={items.length} hasMore={Boolean(onEnd)} isLoading={isLoadingMore} />}
      empty={<Empty title={t("audit.none")}>{t("audit.noneHint")}</Empty>}
      narrow={(row) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-3 gap-y-1">
          <Who item={row} />
          <span className="num text-ink-3 text-xs">{seconds(row.at)}</span>
          <What item={row} />
          <Status item={row} />
        </div>
      )}
    />
  );
}

function Who({ item }: { item: AuditEntry }) {
  const { t } = useText();
  if (item.user_id === null)
    return <span className="text-ink-2 text-sm">{item.service ?? t("audit.platformItself")}</span>;
  return (
    <span className="block truncate text-sm" title={item.api_key_id ? t("audit.byKey") : undefined}>
      <PersonLink id={item.user_id} />
    </span>
  );
}

/** The operation and the end of what it was about. */
function What({ item }: { item: AuditEntry }) {
  const id = /\w+_[0-9a-f]{12,}/.exec(item.path)?.[0];
  return (
    <span className="block truncate font-mono text-xs" title={`${item.operation}\n${item.path}`}>
      {item.operation}
      {id && <span className="ml-2 text-ink-3">{shortId(id)}</span>}
    </span>
  );
}

const Status = ({ item }: { item: AuditEntry }) => (
  <span className={`num text-sm ${item.status >= 400 ? "font-medium text-vermilion" : "text-ink-2"}`}>
    {item.status}
  </span>
);
