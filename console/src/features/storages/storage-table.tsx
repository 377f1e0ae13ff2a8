import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Instance, ListTotal, Storage } from "@/api/generated/types";
import type { StorageAction } from "@/domain/storages/acts";
import { useStorageText } from "@/domain/storages/describe";
import { StorageMenu } from "@/domain/storages/menu";
import { StateCell } from "@/domain/storages/state-cell";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { useListTotal } from "@/lib/list-total";
import { useWide } from "@/lib/narrow";
import { type Column, Table } from "@/ui/table";
import { MountCell } from "./mount-cell";

interface Props {
  items: readonly Storage[];
  instances: readonly Instance[];
  onAct: (action: StorageAction, it: Storage) => void;
  empty: ReactNode;
  /** Of all pages. */
  total: ListTotal | null | undefined;
  isLoadingMore: boolean;
  onEnd: (() => void) | undefined;
}

export function StorageTable({ items, instances, onAct, empty, total, isLoadingMore, onEnd }: Props) {
  const { t } = useText();
  const { number } = useFormat();
  const all = useListTotal()(onEnd && total, items.length);
  const isWide = useWide();
  const menu = (it: Storage) => <StorageMenu it={it} onAct={onAct} />;
  const columns: Column<Storage>[] = [
    {
      key: "name",
      label: t("storages.name"),
      width: "minmax(8rem, 1.2fr)",
      cell: (it) => <NameCell it={it} withPlace={!isWide} />,
    },
    {
      key: "state",
      label: t("storages.state"),
      width: "minmax(8rem, 1.2fr)",
      cell: (it) => <StateCell it={it} />,
    },
    { key: "size", label: t("storages.size"), width: "6rem", cell: (it) => <SizeCell it={it} /> },
    ...(isWide
      ? [
          {
            key: "where",
            label: t("storages.where"),
            width: "5.5rem",
            cell: (it: Storage) => <Where it={it} />,
          },
        ]
      : []),
    {
      key: "mounted",
      label: t("storages.mountedBy"),
      width: "minmax(8rem, 1.3fr)",
      cell: (it) => <MountCell it={it} instances={instances} />,
    },
    {
      key: "price",
      label: t("storages.price"),
      width: "6.5rem",
      end: true,
      cell: (it) => <Price it={it} />,
    },
    {
      key: "actions",
      label: t("storages.actions"),
      hiddenLabel: true,
      width: "1.75rem",
      end: true,
      cell: menu,
    },
  ];
  return (
    <Table
      label={t("storages.title")}
      items={items}
      columns={columns}
      rowKey={(it) => it.id}
      empty={empty}
      onEnd={onEnd}
      footer={
        <span className="num">
          {isLoadingMore
            ? t("storages.loadingMore")
            : all
              ? t("storages.shownTotal", { shown: number(items.length), total: all })
              : onEnd
                ? t("storages.shownMore", { count: items.length })
                : t("storages.shownOf", { count: items.length })}
        </span>
      }
      narrow={(it) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] items-start gap-x-3 gap-y-1.5">
          <NameCell it={it} />
          <div className="-my-1">{menu(it)}</div>
          <div className="col-span-2 grid grid-cols-2 gap-x-4 gap-y-1.5">
            <StateCell it={it} />
            <div className="min-w-0">
              <Price it={it} />
              <span className="num block text-ink-3 text-xs">
                <Size it={it} /> · <Where it={it} />
              </span>
            </div>
            <div className="col-span-2">
              <MountCell it={it} instances={instances} />
            </div>
          </div>
        </div>
      )}
    />
  );
}

function NameCell({ it, withPlace }: { it: Storage; withPlace?: boolean }) {
  const text = useStorageText();
  return (
    <span className="block min-w-0">
      <Link
        to="/storages/$id"
        params={{ id: it.id }}
        className="block truncate font-medium hover:text-ultra hover:underline"
      >
        {it.name}
      </Link>
      <span className="block truncate text-ink-3 text-xs">
        {[text.kind(it), withPlace && it.datacenter].filter(Boolean).join(" · ")}
      </span>
    </span>
  );
}

const Size = ({ it }: { it: Storage }) => useStorageText().size(it);

function SizeCell({ it }: { it: Storage }) {
  const { t } = useText();
  return (
    <span className="num block text-sm">
      <Size it={it} />
      <span className="block text-ink-3 text-xs" title={t("storages.usedUnknown")}>
        {t("storages.used")}
        <span className="sr-only"> {t("storages.usedUnknown")}</span>
      </span>
    </span>
  );
}

function Where({ it }: { it: Storage }) {
  const { t } = useText();
  return <span className="truncate text-sm max-md:text-xs">{it.datacenter ?? t("storages.everywhere")}</span>;
}

function Price({ it }: { it: Storage }) {
  const { t } = useText();
  const text = useStorageText();
  return <span className="num block text-sm">{t("storages.perMonth", { price: text.price(it) })}</span>;
}
