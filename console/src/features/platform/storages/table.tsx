import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { PlatformStorage } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { monthlyOf } from "@/lib/money";
import { ActionMenu } from "@/ui/menu";
import { StateMark } from "@/ui/state";
import { type Column, Table } from "@/ui/table";
import { TenantLink } from "../parts/links";
import { storageStanding } from "./standing";

export function StorageTable({
  items,
  onDelete,
  onEnd,
  empty,
  footer,
}: {
  items: readonly PlatformStorage[];
  onDelete: (it: PlatformStorage) => void;
  onEnd: (() => void) | undefined;
  empty: ReactNode;
  footer: ReactNode;
}) {
  const { t } = useText();
  const { total } = useFormat();
  const name = (it: PlatformStorage) => (
    <Link
      to="/admin/storages/$id"
      params={{ id: it.id }}
      className="block truncate font-medium hover:text-ultra hover:underline"
    >
      {it.name}
    </Link>
  );
  const state = (it: PlatformStorage) => (
    <StateMark mark={storageStanding[it.state].mark}>{t(storageStanding[it.state].word)}</StateMark>
  );
  const menu = (it: PlatformStorage) => (
    <ActionMenu
      label={t("platform.actionsFor", { name: it.name })}
      entries={[
        {
          key: "delete",
          label: t("fleet.deleteDots"),
          danger: true,
          disabled: it.state === "deleting" && t("fleet.isDeleting"),
          onSelect: () => onDelete(it),
        },
      ]}
    />
  );
  const price = (it: PlatformStorage) => t("fleet.perMonth", { price: total(monthlyOf([it])) });
  const columns: Column<PlatformStorage>[] = [
    { key: "name", label: t("platform.name"), width: "minmax(8rem, 1.1fr)", cell: name },
    {
      key: "tenant",
      label: t("platform.tenant"),
      width: "minmax(7rem, 1fr)",
      cell: (it) => <TenantLink id={it.tenant_id} />,
    },
    { key: "state", label: t("platform.state"), width: "8rem", cell: state },
    {
      key: "kind",
      label: t("platform.specification"),
      width: "6rem",
      cell: (it) => <span className="font-mono text-xs">{it.storage_spec.name}</span>,
    },
    {
      key: "place",
      label: t("platform.datacenter"),
      width: "6rem",
      cell: (it) => <span className="text-ink-2 text-sm">{it.datacenter ?? t("fleet.everywhere")}</span>,
    },
    {
      key: "size",
      label: t("fleet.size"),
      width: "5.5rem",
      end: true,
      cell: (it) => <span className="num text-sm">{t("fleet.gib", { size: it.size_gib })}</span>,
    },
    {
      key: "used",
      label: t("fleet.usedBy"),
      width: "6rem",
      end: true,
      cell: (it) => (
        <span className="num text-ink-2 text-sm">
          {it.attachments.length > 0 ? t("platform.countInstances", { count: it.attachments.length }) : "–"}
        </span>
      ),
    },
    {
      key: "price",
      label: t("platform.price"),
      width: "6.5rem",
      end: true,
      cell: (it) => <span className="num text-sm">{price(it)}</span>,
    },
    {
      key: "menu",
      label: t("platform.actions"),
      hiddenLabel: true,
      width: "1.75rem",
      end: true,
      cell: menu,
    },
  ];
  return (
    <Table
      label={t("fleet.storages")}
      items={items}
      columns={columns}
      rowKey={(it) => it.id}
      rowHeight={36}
      empty={empty}
      footer={footer}
      onEnd={onEnd}
      narrow={(it) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 [&>:nth-child(even)]:justify-self-end">
          {name(it)}
          {menu(it)}
          {state(it)}
          <span className="num text-sm">{price(it)}</span>
          <TenantLink id={it.tenant_id} />
          <span className="num text-right text-ink-2 text-xs">{t("fleet.gib", { size: it.size_gib })}</span>
        </div>
      )}
    />
  );
}
