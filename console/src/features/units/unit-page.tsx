import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { PastHolder, StockUnitDetail } from "@/api/generated/types";
import { useLoaded, useLoadedPages } from "@/api/query";
import { stockRepairs, stockUnit, tenantNames } from "@/api/stock";
import { RepairList } from "@/domain/catalogue/repair-list";
import { rowKey } from "@/domain/catalogue/stock";
import { unitMarks, useUnitWords } from "@/domain/catalogue/unit-state";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { CopyBox } from "@/ui/copy";
import { Fact, Facts } from "@/ui/facts";
import { Id } from "@/ui/id";
import { ActionMenu } from "@/ui/menu";
import { PageHead, Panel, Row, Section } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { type Column, Table } from "@/ui/table";
import { RemovalDialog, useWhyNotRemoved } from "./removal";

const route = getRouteApi("/_app/admin/units/$id");

export function UnitPage() {
  const { t } = useText();
  const words = useUnitWords();
  const { time } = useFormat();
  const { id } = route.useParams();
  const navigate = useNavigate();
  const [asks, setAsks] = useState(false);
  const whyNot = useWhyNotRemoved();
  const unit = useLoaded(stockUnit(id));
  const repairs = useLoadedPages(stockRepairs)
    .data.pages.flatMap((page) => page.items)
    .filter((it) => it.unit_id === unit.id);
  return (
    <>
      <PageHead
        title={unit.name}
        up={{ label: t("stock.unitsTitle"), link: { to: "/admin/units" } }}
        mark={<StateMark mark={unitMarks[unit.state]}>{words.state(unit.state)}</StateMark>}
        actions={
          <ActionMenu
            label={t("stock.actionsOf", { unit: shortId(unit.id) })}
            entries={[
              {
                key: "stock",
                label: t("stock.toItsStock"),
                onSelect: () =>
                  void navigate({
                    to: "/admin/stock",
                    search: { edit: rowKey(unit) },
                  }),
              },
              {
                key: "remove",
                label: t("stock.removeUnit"),
                danger: true,
                disabled: whyNot(unit),
                onSelect: () => setAsks(true),
              },
            ]}
          />
        }
      >
        {unit.message ??
          (unit.reason
            ? words.reason(unit.reason)
            : t("stock.unitSince", { state: words.state(unit.state), when: time(unit.since) }))}
      </PageHead>
      <Facts>
        <Fact label={t("stock.spec")}>
          <Link
            to="/admin/gpu-specs/$id"
            params={{ id: unit.gpu_spec.id }}
            className="font-mono text-ultra text-xs leading-5 hover:underline"
          >
            {unit.gpu_spec.name}
          </Link>
        </Fact>
        <Fact label={t("stock.datacenter")}>
          <Link
            to="/admin/datacenters/$id"
            params={{ id: unit.datacenter.id }}
            className="text-ultra hover:underline"
          >
            {unit.datacenter.name}
          </Link>
        </Fact>
        <Fact label={t("stock.node")}>
          {unit.node ? (
            <Link
              to="/admin/units"
              search={{ node: unit.node }}
              title={t("stock.onNode", { node: unit.node })}
              className="font-mono text-ultra text-xs leading-5 hover:underline"
            >
              {unit.node}
            </Link>
          ) : (
            `– ${t("stock.noNode")}`
          )}
        </Fact>
        <Fact label={t("stock.addedAt")}>{time(unit.created_at)}</Fact>
        <Fact label={t("stock.unitId")}>
          <Id id={unit.id} label={t("stock.copyUnitId")} />
        </Fact>
      </Facts>
      <HolderSection unit={unit} />
      <Section title={t("stock.gpus")}>
        {unit.gpu_uuids.length === 0 ? (
          <p className="text-ink-2 text-sm">{t("stock.noUuids")}</p>
        ) : (
          <ul className="grid gap-2 md:grid-cols-2">
            {unit.gpu_uuids.map((uuid) => (
              <li key={uuid}>
                <CopyBox text={uuid} label={t("stock.copyUuid")} />
              </li>
            ))}
          </ul>
        )}
      </Section>
      <History items={unit.history} />
      {repairs.length > 0 && (
        <Section title={t("stock.repairs")}>
          <RepairList items={repairs} />
        </Section>
      )}
      {asks && <RemovalDialog unit={unit} onClose={() => setAsks(false)} />}
    </>
  );
}

function HolderSection({ unit }: { unit: StockUnitDetail }) {
  const { t } = useText();
  const { time } = useFormat();
  const { data: names } = useQuery(tenantNames);
  const { holder } = unit;
  return (
    <Section title={t("stock.holder")}>
      <Panel>
        {holder ? (
          <Row
            title={
              <Link
                to="/admin/tenants/$id"
                params={{ id: holder.tenant_id }}
                className="hover:text-ultra hover:underline"
              >
                {names?.get(holder.tenant_id) ?? holder.tenant_id}
              </Link>
            }
            hint={t("stock.holderSince", { when: time(holder.since) })}
          >
            <Id id={holder.instance_id} label={t("stock.copyInstanceId")} />
          </Row>
        ) : (
          <Row
            title={t("stock.noHolder")}
            hint={t(unit.state === "available" ? "stock.canBeClaimed" : "stock.cannotBeClaimed")}
          />
        )}
      </Panel>
    </Section>
  );
}

function History({ items }: { items: readonly PastHolder[] }) {
  const { t } = useText();
  const { time, duration } = useFormat();
  const { data: names } = useQuery(tenantNames);
  const tenant = (it: PastHolder) => (
    <Link
      to="/admin/tenants/$id"
      params={{ id: it.tenant_id }}
      className="block truncate text-sm hover:text-ultra hover:underline max-md:min-h-6"
    >
      {names?.get(it.tenant_id) ?? it.tenant_id}
    </Link>
  );
  const length = (it: PastHolder) => (
    <span className="num text-sm">
      {duration((Date.parse(it.released_at) - Date.parse(it.claimed_at)) / 1000)}
    </span>
  );
  const columns: Column<PastHolder>[] = [
    { key: "tenant", label: t("stock.tenant"), width: "minmax(8rem, 1fr)", cell: tenant },
    {
      key: "instance",
      label: t("stock.instance"),
      width: "minmax(8rem, 1fr)",
      cell: (it) => <Id id={it.instance_id} label={t("stock.copyInstanceId")} />,
    },
    {
      key: "claimed",
      label: t("stock.claimed"),
      width: "minmax(9.5rem, 11rem)",
      cell: (it) => <span className="num text-ink-2 text-sm">{time(it.claimed_at)}</span>,
    },
    {
      key: "released",
      label: t("stock.released"),
      width: "minmax(9.5rem, 11rem)",
      cell: (it) => <span className="num text-ink-2 text-sm">{time(it.released_at)}</span>,
    },
    { key: "length", label: t("stock.held"), width: "5.5rem", end: true, cell: length },
  ];
  return (
    <Section title={t("stock.history")} hint={items.length === 100 ? t("stock.historyLimit") : undefined}>
      <Table
        label={t("stock.history")}
        items={items}
        columns={columns}
        rowHeight={36}
        rowKey={(it) => `${it.instance_id}-${it.claimed_at}`}
        empty={<p className="px-4 py-3 text-ink-2 text-sm">{t("stock.noHistory")}</p>}
        narrow={(it) => (
          <div className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-3">
            {tenant(it)}
            {length(it)}
            <span className="num text-ink-3 text-xs">{time(it.claimed_at)}</span>
          </div>
        )}
      />
    </Section>
  );
}
