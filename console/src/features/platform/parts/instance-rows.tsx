import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { PlatformInstance } from "@/api/generated/types";
import { standingOf } from "@/domain/instances/standing";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { PriceTag } from "@/ui/money";
import { StateMark } from "@/ui/state";
import { type Column, Table } from "@/ui/table";
import { TenantLink } from "./links";

/** Instances of any tenant, one line each. */
export function InstanceRows({
  label,
  items,
  withTenant,
  empty,
  footer,
  onEnd,
  menu,
}: {
  label: string;
  items: readonly PlatformInstance[];
  withTenant: boolean;
  empty: ReactNode;
  footer?: ReactNode;
  onEnd?: (() => void) | undefined;
  menu?: (it: PlatformInstance) => ReactNode;
}) {
  const { t } = useText();
  const columns: Column<PlatformInstance>[] = [
    { key: "name", label: t("platform.name"), width: "minmax(7rem, 1.1fr)", cell: (it) => <Name it={it} /> },
    ...(withTenant
      ? [
          {
            key: "tenant",
            label: t("platform.tenant"),
            width: "minmax(7rem, 1fr)",
            cell: (it: PlatformInstance) => <TenantLink id={it.tenant_id} />,
          },
        ]
      : []),
    {
      key: "state",
      label: t("platform.state"),
      width: withTenant ? "9rem" : "7.5rem",
      cell: (it) => <State it={it} />,
    },
    { key: "spec", label: t("platform.specification"), width: "8.5rem", cell: (it) => <Spec it={it} /> },
    { key: "node", label: t("platform.node"), width: "7rem", cell: (it) => <Node it={it} /> },
    { key: "run", label: t("platform.thisRun"), width: "6.5rem", end: true, cell: (it) => <Run it={it} /> },
    {
      key: "price",
      label: t("platform.price"),
      width: "4.5rem",
      end: true,
      cell: (it) => (
        <span className="text-sm">
          <PriceTag perHour={it.price_per_hour} currency={it.currency} />
        </span>
      ),
    },
    ...(menu
      ? [
          {
            key: "menu",
            label: t("platform.actions"),
            hiddenLabel: true,
            width: "1.75rem",
            end: true,
            cell: menu,
          },
        ]
      : []),
  ];
  return (
    <Table
      label={label}
      items={items}
      columns={columns}
      rowKey={(it) => it.id}
      rowHeight={36}
      empty={empty}
      footer={footer}
      onEnd={onEnd}
      narrow={(it) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 [&>:nth-child(even)]:justify-self-end">
          <Name it={it} />
          {menu?.(it) ?? <span />}
          <State it={it} />
          <Run it={it} />
          {withTenant && <TenantLink id={it.tenant_id} />}
          <span className="col-start-2 text-right">
            <Node it={it} />
          </span>
        </div>
      )}
    />
  );
}

function Name({ it }: { it: PlatformInstance }) {
  return (
    <Link
      to="/admin/instances/$id"
      params={{ id: it.id }}
      className="block truncate font-medium hover:text-ultra hover:underline"
    >
      {it.name}
    </Link>
  );
}

function State({ it }: { it: PlatformInstance }) {
  const { t } = useText();
  const { mark, word } = standingOf(it);
  return (
    <span title={it.message ?? undefined}>
      <StateMark mark={mark}>{t(word)}</StateMark>
    </span>
  );
}

const Spec = ({ it }: { it: PlatformInstance }) => (
  <span className="block truncate font-mono text-xs">{it.gpu_spec.name}</span>
);

const Node = ({ it }: { it: PlatformInstance }) => (
  <span className="block truncate font-mono text-ink-2 text-xs">{it.node ?? it.datacenter ?? "–"}</span>
);

function Run({ it }: { it: PlatformInstance }) {
  const { duration } = useFormat();
  const now = useNow();
  return (
    <span className="num text-sm">
      {it.started_at ? duration((now - Date.parse(it.started_at)) / 1000) : "–"}
    </span>
  );
}
