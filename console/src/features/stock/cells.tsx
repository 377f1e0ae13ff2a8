import { getRouteApi, Link } from "@tanstack/react-router";
import { clsx } from "clsx";
import { Pencil } from "lucide-react";
import type { StockRow } from "@/api/generated/types";
import { doneOf, isOpen, rowKey, type StockOperation } from "@/domain/catalogue/stock";
import { useText } from "@/i18n";
import { Ring } from "@/ui/state";
import { StockBar, type StockCounts } from "@/ui/stock-bar";

const route = getRouteApi("/_app/admin/stock");

/** Up to this number of available units counts as few. */
const FEW = 2;

export function Count({ children }: { children: number }) {
  return <span className={clsx("num text-sm", children === 0 && "text-ink-3")}>{children}</span>;
}

export function SpecName({ row: { gpu_spec }, text }: { row: StockRow; text: string }) {
  const { t } = useText();
  return (
    <span className="block min-w-0">
      <span className="flex min-w-0 items-baseline gap-2">
        <Link
          to="/admin/gpu-specs/$id"
          params={{ id: gpu_spec.id }}
          className="truncate font-medium font-mono text-xs hover:underline"
        >
          {gpu_spec.name}
        </Link>
        {gpu_spec.state === "retired" && (
          <span className="text-2xs text-ink-3 leading-4">{t("stock.retired")}</span>
        )}
      </span>
      <span className="num block truncate text-2xs text-ink-3 leading-3.5">{text}</span>
    </span>
  );
}

export function Place({ row }: { row: StockRow }) {
  const { t } = useText();
  return (
    <span className="block min-w-0 text-ink-2 text-xs">
      <Link
        to="/admin/datacenters/$id"
        params={{ id: row.datacenter.id }}
        className="block truncate hover:underline"
      >
        {row.datacenter.name}
      </Link>
      {row.datacenter_state === "draining" && (
        <span className="block truncate text-2xs text-ochre leading-3.5">{t("stock.draining")}</span>
      )}
    </span>
  );
}

export function Available({ count }: { count: number }) {
  const { t } = useText();
  return (
    <span
      className={clsx(
        "num text-sm",
        count === 0 ? "font-medium text-vermilion" : count <= FEW && "font-medium text-ochre",
      )}
    >
      {count === 0 ? t("stock.none") : count}
    </span>
  );
}

/** Those that are inactive have a reason: their units say it. */
export function Inactive({ row }: { row: StockRow }) {
  const { t } = useText();
  if (row.inactive === 0) return <Count>{0}</Count>;
  return (
    <Link
      to="/admin/units"
      search={{ gpu_spec: row.gpu_spec.name, datacenter: row.datacenter.name, state: "inactive" }}
      aria-label={t("stock.inactiveUnits", {
        count: row.inactive,
        spec: row.gpu_spec.name,
        datacenter: row.datacenter.name,
      })}
      className="num text-sm text-ultra hover:underline max-md:inline-block max-md:min-h-6"
    >
      {row.inactive}
    </Link>
  );
}

export function Bar({ counts }: { counts: StockCounts & { total: number } }) {
  const { t } = useText();
  return <StockBar counts={counts} label={t("stock.bar", { ...counts })} />;
}

export function BarCell({ row, operations }: { row: StockRow; operations: readonly StockOperation[] }) {
  const { t } = useText();
  const open = operations.find(
    (it) =>
      isOpen(it) &&
      it.progress.gpu_spec.id === row.gpu_spec.id &&
      it.progress.datacenter.id === row.datacenter.id,
  );
  const { available, inactive, used, total } = row;
  return (
    <span className="block">
      <Bar counts={{ available, inactive, used, total }} />
      {open && (
        <span className="num mt-0.5 flex items-center gap-1.5 whitespace-nowrap font-medium text-2xs text-ochre leading-3.5">
          <Ring mark="moves" className="size-2!" />
          {t(open.kind === "add_stock" ? "stock.addingNow" : "stock.removingNow", {
            done: doneOf(open),
            count: open.progress.requested,
          })}
        </span>
      )}
    </span>
  );
}

export function EditLink({ row }: { row: StockRow }) {
  const { t } = useText();
  const label = t("stock.updateOf", { spec: row.gpu_spec.name, datacenter: row.datacenter.name });
  const navigate = route.useNavigate();
  return (
    <button
      type="button"
      aria-label={label}
      onClick={() => void navigate({ search: (old) => ({ ...old, edit: rowKey(row) }), replace: true })}
      className="grid size-7 cursor-pointer place-items-center rounded-md text-ink-2 hover:bg-wash hover:text-ink max-md:size-10"
    >
      <Pencil className="size-3.5" aria-hidden="true" />
    </button>
  );
}
