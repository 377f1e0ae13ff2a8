import type { StockRow } from "@/api/generated/types";
import { useText } from "@/i18n";
import { StockBar } from "@/ui/stock-bar";
import type { StockPlan } from "./change";

/** The row as it will be, with what it was struck out. */
export function After({ row, plan }: { row: StockRow; plan: StockPlan }) {
  const { t } = useText();
  const { after, units } = plan;
  const numbers = [
    [t("stock.available"), row.available, after.available],
    [t("stock.inactive"), row.inactive, after.inactive],
    [t("stock.used"), row.used, after.used],
    [t("stock.total"), row.total, after.total],
  ] as const;
  return (
    <div>
      <p className="mb-1.5 font-medium text-sm">{t("stock.after")}</p>
      <StockBar
        counts={{ ...after, available: Math.min(row.available, after.available) }}
        added={Math.max(0, units)}
        label={t("stock.bar", { ...after })}
      />
      <dl className="num mt-2 grid grid-cols-4 gap-2">
        {numbers.map(([label, from, to]) => (
          <div key={label} className="flex min-w-0 flex-col-reverse">
            <dt className="truncate text-ink-2 text-xs">{label}</dt>
            <dd className="font-medium">
              {from !== to && <s className="mr-1 font-normal text-ink-3 text-xs">{from}</s>}
              {to}
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
