import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import type { Pool } from "@/api/generated/types";
import { useLoadedPages } from "@/api/query";
import { useText } from "@/i18n";
import { ButtonLink } from "@/ui/button";
import { Empty, PageHead } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { type Column, Table } from "@/ui/table";
import { TenantLink } from "../parts/links";
import { RowsFooter } from "../parts/rows-footer";

import { pools } from "./queries";

export function PoolsPage() {
  const { t } = useText();
  const list = useLoadedPages(pools);
  const items = list.data.pages.flatMap((page) => page.items);
  const ready = items.reduce((sum, it) => sum + it.status.ready, 0);
  const name = (it: Pool) => (
    <Link
      to="/admin/pools/$id"
      params={{ id: it.id }}
      className="block truncate font-medium hover:text-ultra hover:underline"
    >
      {it.name}
    </Link>
  );
  const columns: Column<Pool>[] = [
    { key: "name", label: t("platform.name"), width: "minmax(8rem, 0.9fr)", cell: name },
    {
      key: "state",
      label: t("platform.state"),
      width: "minmax(9rem, 1fr)",
      cell: (it) => <State it={it} />,
    },
    {
      key: "workers",
      label: t("pools.workers"),
      width: "minmax(9rem, 1fr)",
      cell: ({ workers, status }) => (
        <span className="num block truncate text-ink-2 text-sm">
          {workers
            ? t("pools.firmAndLent", {
                actual: status.actual,
                desired: status.desired,
                lent: status.lent_actual,
              })
            : t("pools.registered")}
        </span>
      ),
    },
    {
      key: "for",
      label: t("pools.forWhom"),
      width: "minmax(7rem, 0.8fr)",
      cell: (it) =>
        it.dedicated && it.tenant_id ? (
          <TenantLink id={it.tenant_id} />
        ) : (
          <span className="text-ink-2 text-sm">{t("platform.allTenants")}</span>
        ),
    },
    {
      key: "specs",
      label: t("pools.specs"),
      width: "minmax(9rem, 1.7fr)",
      cell: (it) => <span className="block truncate font-mono text-xs">{it.gpu_specs.join(", ")}</span>,
    },
    {
      key: "apps",
      label: t("pools.applications"),
      width: "minmax(8rem, 1fr)",
      cell: (it) => <span className="block truncate text-ink-2 text-sm">{it.applications.join(", ")}</span>,
    },
  ];
  return (
    <>
      <PageHead
        title={t("pools.title")}
        actions={
          <ButtonLink kind="primary" to="/admin/pools/new">
            <Plus className="size-4" aria-hidden="true" />
            {t("pools.new")}
          </ButtonLink>
        }
      >
        {t("pools.summary", { count: items.length, ready })}
      </PageHead>
      <Table
        label={t("pools.title")}
        items={items}
        columns={columns}
        rowKey={(it) => it.id}
        rowHeight={36}
        onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
        footer={
          <RowsFooter count={items.length} hasMore={list.hasNextPage} isLoading={list.isFetchingNextPage} />
        }
        empty={
          <Empty
            title={t("pools.none")}
            actions={<ButtonLink to="/admin/pools/new">{t("pools.new")}</ButtonLink>}
          >
            {t("pools.noneHint")}
          </Empty>
        }
        narrow={(it) => (
          <div className="space-y-1">
            {name(it)}
            <State it={it} />
            <span className="block truncate font-mono text-ink-3 text-xs">{it.gpu_specs.join(", ")}</span>
          </div>
        )}
      />
    </>
  );
}

export function State({ it }: { it: Pool }) {
  const { t } = useText();
  const { ready, problem } = it.status;
  return (
    <StateMark mark={problem ? "failed" : ready > 0 ? "runs" : "rests"}>
      <span title={problem ?? undefined}>
        {problem ? t("pools.hasProblem", { count: ready }) : t("pools.ready", { count: ready })}
      </span>
    </StateMark>
  );
}
