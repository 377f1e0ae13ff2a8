import type { PoolShare } from "@/api/generated/types";
import { useText } from "@/i18n";
import { ActionMenu } from "@/ui/menu";
import { Empty } from "@/ui/page";
import { type Column, Table } from "@/ui/table";
import { TenantLink } from "../parts/links";
import { useTenantName } from "../parts/names";

export const defaults = { weight: 100, guarantee: 0, urgent: 1 };

/** Shares that were set; all other tenants have the default. */
export function ShareTable({
  items,
  onChange,
  onRemove,
}: {
  items: readonly PoolShare[];
  onChange: (share: PoolShare) => void;
  onRemove: (share: PoolShare) => void;
}) {
  const { t } = useText();
  const name = useTenantName();
  const menu = (it: PoolShare) => (
    <ActionMenu
      label={t("pools.shareActions", { name: name(it.tenant_id) })}
      entries={[
        { key: "change", label: t("platform.changeDots"), onSelect: () => onChange(it) },
        { key: "remove", label: t("pools.removeShareDots"), onSelect: () => onRemove(it) },
      ]}
    />
  );
  const number = (text: string | number) => <span className="num text-sm">{text}</span>;
  const limit = (it: PoolShare) => it.share.limit ?? t("platform.noLimit");
  const columns: Column<PoolShare>[] = [
    {
      key: "tenant",
      label: t("platform.tenant"),
      width: "minmax(10rem, 1fr)",
      cell: (it) => <TenantLink id={it.tenant_id} names />,
    },
    {
      key: "weight",
      label: t("pools.weight"),
      width: "6rem",
      end: true,
      cell: (it) => number(it.share.weight ?? defaults.weight),
    },
    {
      key: "guarantee",
      label: t("pools.guarantee"),
      width: "7rem",
      end: true,
      cell: (it) => number(it.share.guarantee ?? defaults.guarantee),
    },
    { key: "limit", label: t("pools.limit"), width: "7rem", end: true, cell: (it) => number(limit(it)) },
    {
      key: "urgent",
      label: t("pools.urgentMost"),
      width: "8rem",
      end: true,
      cell: (it) => number(it.share.urgent ?? defaults.urgent),
    },
    {
      key: "menu",
      label: t("platform.actions"),
      hiddenLabel: true,
      width: "2rem",
      end: true,
      cell: menu,
    },
  ];
  return (
    <Table
      label={t("pools.shares")}
      items={items}
      columns={columns}
      rowKey={(it) => it.tenant_id}
      rowHeight={36}
      empty={<Empty title={t("pools.noShares")}>{t("pools.noSharesHint")}</Empty>}
      narrow={(it) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3">
          <TenantLink id={it.tenant_id} names />
          {menu(it)}
          <span className="num text-ink-2 text-sm">
            {t("tenants.share", {
              weight: it.share.weight ?? defaults.weight,
              guarantee: it.share.guarantee ?? defaults.guarantee,
            })}
          </span>
        </div>
      )}
    />
  );
}
