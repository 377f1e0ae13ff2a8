import { Link } from "@tanstack/react-router";
import type { SshSession } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { Empty } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { type Column, Table } from "@/ui/table";
import { PersonLink, TenantLink } from "./links";
import { RowsFooter } from "./rows-footer";

/** Connections over SSH, newest first. */
export function SshRows({
  items,
  withInstance,
  isLoadingMore,
  onEnd,
}: {
  items: readonly SshSession[];
  withInstance: boolean;
  isLoadingMore: boolean;
  onEnd: (() => void) | undefined;
}) {
  const { t } = useText();
  const { clock } = useFormat();
  const instance = (it: SshSession) => (
    <Link
      to="/admin/instances/$id"
      params={{ id: it.instance_id }}
      className="block truncate font-mono text-xs hover:text-ultra hover:underline"
    >
      {shortId(it.instance_id)}
    </Link>
  );
  const columns: Column<SshSession>[] = [
    {
      key: "from",
      label: t("fleet.opened"),
      width: "8.5rem",
      cell: (it) => <span className="num text-sm">{clock(it.started_at)}</span>,
    },
    { key: "state", label: t("platform.state"), width: "8.5rem", cell: (it) => <State it={it} /> },
    {
      key: "person",
      label: t("fleet.person"),
      width: "minmax(6rem, 0.8fr)",
      cell: (it) => <Person it={it} />,
    },
    ...(withInstance
      ? [
          {
            key: "tenant",
            label: t("platform.tenant"),
            width: "minmax(7rem, 1.25fr)",
            cell: (it: SshSession) => <TenantLink id={it.tenant_id} />,
          },
          { key: "instance", label: t("fleet.instance"), width: "5.75rem", cell: instance },
        ]
      : []),
    {
      key: "client",
      label: t("fleet.client"),
      width: "8.5rem",
      cell: (it) => <span className="block truncate font-mono text-ink-2 text-xs">{it.client_address}</span>,
    },
    { key: "did", label: t("fleet.did"), width: "minmax(8rem, 2fr)", cell: (it) => <Did it={it} /> },
  ];
  return (
    <Table
      label={t("fleet.ssh")}
      items={items}
      columns={columns}
      rowKey={(it) => it.id}
      rowHeight={36}
      onEnd={onEnd}
      footer={<RowsFooter count={items.length} hasMore={Boolean(onEnd)} isLoading={isLoadingMore} />}
      empty={<Empty title={t("fleet.noSsh")}>{t("fleet.noSshHint")}</Empty>}
      narrow={(it) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-3 gap-y-1 [&>:nth-child(even)]:justify-self-end">
          <Person it={it} />
          <span className="num text-sm">{clock(it.started_at)}</span>
          <State it={it} />
          {withInstance && <TenantLink id={it.tenant_id} />}
        </div>
      )}
    />
  );
}

const Person = ({ it }: { it: SshSession }) => (
  <span className="text-sm">
    <PersonLink id={it.user_id} />
  </span>
);

function State({ it }: { it: SshSession }) {
  const { t } = useText();
  const { minutes } = useFormat();
  const now = useNow();
  if (it.ended_at === null)
    return (
      <StateMark mark="runs">
        {t("fleet.openFor", { duration: minutes((now - Date.parse(it.started_at)) / 1000) })}
      </StateMark>
    );
  const reasons: Record<string, string> = {
    disconnected: t("fleet.sshDisconnected"),
    rights_ended: t("fleet.sshRights"),
    key_deleted: t("fleet.sshKey"),
    instance_not_running: t("fleet.sshInstance"),
    tenant_not_active: t("fleet.sshTenant"),
    idle: t("fleet.sshIdle"),
    service_stopped: t("fleet.sshService"),
    service_lost: t("fleet.sshService"),
  };
  return <StateMark mark="rests">{reasons[it.end_reason ?? ""] ?? it.end_reason ?? "–"}</StateMark>;
}

/** What is counted when the connection ends. */
function Did({ it }: { it: SshSession }) {
  const { t } = useText();
  const { list } = useFormat();
  const counts = [
    it.shells > 0 && t("fleet.shells", { count: it.shells }),
    it.commands > 0 && t("fleet.commands", { count: it.commands }),
    it.sftp > 0 && t("fleet.transfers", { count: it.sftp }),
    it.forwards > 0 && t("fleet.forwards", { count: it.forwards }),
  ].filter((text) => text !== false);
  return (
    <span
      className="num block truncate text-ink-2 text-sm"
      title={it.ended_at === null ? t("fleet.countedLater") : undefined}
    >
      {counts.length > 0 ? list(counts) : "–"}
    </span>
  );
}
