import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Tenant } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { StateMark } from "@/ui/state";
import { type Column, Table } from "@/ui/table";
import { useRemainingText } from "../parts/remaining-text";
import { RowsFooter } from "../parts/rows-footer";
import { SpentCell } from "../parts/spent-cell";
import { tenantStanding } from "../parts/tenant-standing";
import { budgets, quotas, spending } from "./queries";

export function TenantTable({
  items,
  isLoadingMore,
  onEnd,
  empty,
}: {
  items: readonly Tenant[];
  isLoadingMore: boolean;
  onEnd: (() => void) | undefined;
  empty: ReactNode;
}) {
  const { t } = useText();
  const { day } = useFormat();
  const { data: terms } = useQuery(budgets);
  const { data: limits } = useQuery(quotas);
  const { data: usage } = useQuery(spending);
  const spent = (it: Tenant) =>
    usage && <SpentCell usage={usage.items.find((one) => one.group === it.id)} terms={terms?.get(it.id)} />;
  const gpus = (it: Tenant) => {
    const most = limits?.get(it.id)?.gpus;
    return most === null || most === undefined ? (
      <span className="text-ink-3">{limits ? t("platform.noLimit") : "–"}</span>
    ) : (
      most
    );
  };
  const columns: Column<Tenant>[] = [
    {
      key: "name",
      label: t("tenants.tenant"),
      width: "minmax(10rem, 1.2fr)",
      cell: (it) => <Name it={it} />,
    },
    {
      key: "state",
      label: t("platform.state"),
      width: "minmax(10rem, 1fr)",
      cell: (it) => <State it={it} />,
    },
    {
      key: "spent",
      label: t("tenants.thisMonth"),
      head: <span className="block w-20 text-right">{t("tenants.thisMonth")}</span>,
      width: "minmax(14rem, 1.4fr)",
      cell: spent,
    },
    {
      key: "gpus",
      label: t("tenants.gpuLimit"),
      width: "5rem",
      end: true,
      cell: (it) => <span className="num text-sm">{gpus(it)}</span>,
    },
    {
      key: "created",
      label: t("platform.created"),
      width: "7rem",
      end: true,
      cell: (it) => <span className="num text-ink-2 text-sm">{day(it.created_at)}</span>,
    },
  ];
  return (
    <Table
      label={t("tenants.title")}
      items={items}
      columns={columns}
      rowKey={(it) => it.id}
      rowHeight={36}
      empty={empty}
      onEnd={onEnd}
      footer={<RowsFooter count={items.length} hasMore={Boolean(onEnd)} isLoading={isLoadingMore} />}
      narrow={(it) => (
        <div className="space-y-1">
          <div className="flex items-start justify-between gap-3">
            <Name it={it} />
            <StateMark mark={tenantStanding(it).mark}>{t(tenantStanding(it).word)}</StateMark>
          </div>
          {spent(it)}
        </div>
      )}
    />
  );
}

function Name({ it }: { it: Tenant }) {
  return (
    <Link
      to="/admin/tenants/$id"
      params={{ id: it.id }}
      className="block truncate font-medium hover:text-ultra hover:underline"
    >
      {it.name}
    </Link>
  );
}

function State({ it }: { it: Tenant }) {
  const { t } = useText();
  const { day } = useFormat();
  const left = useRemainingText(it.steps);
  const { mark, word } = tenantStanding(it);
  const detail =
    left || (it.delete_storages_at && t("tenants.storagesUntil", { day: day(it.delete_storages_at) }));
  return (
    <span className="flex min-w-0 items-center gap-2">
      <StateMark mark={mark}>{t(word)}</StateMark>
      {detail && <span className="num truncate text-ink-3 text-xs">{detail}</span>}
    </span>
  );
}
