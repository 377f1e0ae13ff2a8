import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { StockUnit } from "@/api/generated/types";
import { tenantNames } from "@/api/stock";
import { unitMarks, useUnitWords } from "@/domain/catalogue/unit-state";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { ActionMenu } from "@/ui/menu";
import { StateMark } from "@/ui/state";
import { type Column, Table } from "@/ui/table";
import { useWhyNotRemoved } from "./removal";

const route = getRouteApi("/_app/admin/units/");

/** A filter by what is in the cell, beside the filter that there is. */
const also = "block truncate hover:text-ultra hover:underline max-md:min-h-6";

export function UnitTable({
  items,
  empty,
  onEnd,
  onRemove,
}: {
  items: readonly StockUnit[];
  empty: ReactNode;
  onEnd: (() => void) | undefined;
  onRemove: (unit: StockUnit) => void;
}) {
  const { t } = useText();
  const now = useNow();
  const { relative } = useFormat();
  const since = (unit: StockUnit) => (
    <span className="num block truncate text-ink-3 text-xs">{relative(unit.since, now)}</span>
  );
  const whyNot = useWhyNotRemoved();
  const menu = (unit: StockUnit) => (
    <ActionMenu
      label={t("stock.actionsOf", { unit: shortId(unit.id) })}
      entries={[
        {
          key: "remove",
          label: t("stock.removeUnit"),
          danger: true,
          disabled: whyNot(unit),
          onSelect: () => onRemove(unit),
        },
      ]}
    />
  );
  const columns: Column<StockUnit>[] = [
    { key: "unit", label: t("stock.unit"), width: "minmax(6rem, 1fr)", cell: (unit) => <Name unit={unit} /> },
    {
      key: "spec",
      label: t("stock.spec"),
      width: "minmax(6.5rem, 1fr)",
      cell: (unit) => <span className="block truncate font-mono text-xs">{unit.gpu_spec.name}</span>,
    },
    {
      key: "state",
      label: t("stock.state"),
      width: "minmax(6.5rem, 1.3fr)",
      cell: (unit) => <State unit={unit} />,
    },
    {
      key: "node",
      label: t("stock.node"),
      width: "minmax(5.5rem, 0.8fr)",
      cell: (unit) => <Node unit={unit} />,
    },
    {
      key: "gpus",
      label: t("stock.gpus"),
      width: "minmax(4.5rem, 6rem)",
      cell: (unit) => <Gpus unit={unit} />,
    },
    {
      key: "holder",
      label: t("stock.holder"),
      width: "minmax(6rem, 1fr)",
      cell: (unit) => <HolderCell unit={unit} />,
    },
    { key: "since", label: t("stock.since"), width: "minmax(5rem, 6.5rem)", end: true, cell: since },
    { key: "menu", label: t("stock.actions"), width: "1.75rem", hiddenLabel: true, cell: menu },
  ];
  return (
    <Table
      label={t("stock.unitsTitle")}
      items={items}
      columns={columns}
      rowHeight={36}
      rowKey={(unit) => unit.id}
      empty={empty}
      onEnd={onEnd}
      footer={
        <span className="num">{t(onEnd ? "stock.rowsMore" : "stock.rows", { count: items.length })}</span>
      }
      narrow={(unit) => (
        <div className="space-y-1.5">
          <div className="flex items-start justify-between gap-3">
            <span className="min-w-0">
              <Name unit={unit} />
              <span className="block truncate font-mono text-ink-3 text-xs">{unit.gpu_spec.name}</span>
            </span>
            <span className="flex items-center gap-2">
              {since(unit)}
              {menu(unit)}
            </span>
          </div>
          <State unit={unit} />
          <div className="grid grid-cols-2 gap-3">
            <Node unit={unit} />
            {unit.holder && <HolderCell unit={unit} />}
          </div>
        </div>
      )}
    />
  );
}

function Name({ unit }: { unit: StockUnit }) {
  return (
    <Link
      to="/admin/units/$id"
      params={{ id: unit.id }}
      title={unit.name}
      className="block truncate font-medium font-mono text-xs hover:underline max-md:min-h-6"
    >
      {shortId(unit.id)}
    </Link>
  );
}

function State({ unit }: { unit: StockUnit }) {
  const words = useUnitWords();
  return (
    <span title={unit.message ?? undefined} className="[&_span]:truncate [&_span]:text-xs [&_span]:leading-4">
      <StateMark mark={unitMarks[unit.state]} reason={unit.reason && words.reason(unit.reason)}>
        {words.state(unit.state)}
      </StateMark>
    </span>
  );
}

function Node({ unit }: { unit: StockUnit }) {
  const { t } = useText();
  const filter = route.useSearch();
  return (
    <span className="block min-w-0 text-xs">
      {unit.node ? (
        <Link
          to="/admin/units"
          search={{ ...filter, node: unit.node }}
          title={t("stock.onNode", { node: unit.node })}
          className={`${also} font-mono`}
        >
          {unit.node}
        </Link>
      ) : (
        <span title={t("stock.noNode")}>–</span>
      )}
      <span className="block truncate text-ink-3">{unit.datacenter.name}</span>
    </span>
  );
}

function Gpus({ unit }: { unit: StockUnit }) {
  const { t } = useText();
  const [first, ...others] = unit.gpu_uuids;
  return (
    <span
      className="block truncate font-mono text-ink-2 text-xs"
      title={unit.gpu_uuids.join("\n") || t("stock.noUuids")}
    >
      {first ? first.slice(0, 12) : "–"}
      {others.length > 0 && <span className="font-sans"> +{others.length}</span>}
    </span>
  );
}

function HolderCell({ unit: { holder } }: { unit: StockUnit }) {
  const { t } = useText();
  const filter = route.useSearch();
  const { data: names } = useQuery(tenantNames);
  if (!holder) return <span className="text-ink-3 text-xs">–</span>;
  return (
    <span className="block min-w-0 text-xs">
      <Link
        to="/admin/units"
        search={{ ...filter, tenant_id: holder.tenant_id }}
        title={t("stock.allOfHolder")}
        className={also}
      >
        {names?.get(holder.tenant_id) ?? shortId(holder.tenant_id)}
      </Link>
      <span className="block truncate font-mono text-ink-3" title={holder.instance_id}>
        {shortId(holder.instance_id)}
      </span>
    </span>
  );
}
