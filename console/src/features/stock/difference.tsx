import type { GpuSpec, StockRow } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { type Change, Changes } from "@/ui/changes";
import { riseOf, type StockPlan } from "./change";

/** What the press does, sentence by sentence. */
export function Difference({
  row,
  rows,
  plan,
  spec,
  price,
  coming,
}: {
  row: StockRow;
  rows: readonly StockRow[];
  plan: StockPlan;
  spec: GpuSpec;
  /** The new price; null if it stays. */
  price: string | null;
  coming: number;
}) {
  const { t } = useText();
  const { money, list } = useFormat();
  const datacenter = row.datacenter.name;
  const ofSpec = rows.filter((it) => it.gpu_spec.id === spec.id);
  const used = ofSpec.reduce((sum, it) => sum + it.used, 0);
  const others = ofSpec.filter((it) => it !== row).map((it) => it.datacenter.name);
  const changes: Change[] = [];
  if (plan.units > 0)
    changes.push({ key: "add", sign: "+", text: t("stock.adds", { count: plan.units, datacenter }) });
  if (plan.units < 0)
    changes.push({
      key: "remove",
      sign: "−",
      text:
        plan.inactive > 0
          ? t("stock.removesInactive", { count: -plan.units, datacenter, inactive: plan.inactive })
          : t("stock.removes", { count: -plan.units, datacenter }),
    });
  if (plan.units > 0 && coming > 0)
    changes.push({ key: "coming", sign: "=", text: t("stock.comesOnTop", { count: coming }) });
  if (price !== null) {
    changes.push({
      key: "price",
      sign: riseOf(spec.price_per_hour, price) > 0 ? "↑" : "↓",
      text: t("stock.reprices", { price: t("ui.perHour", { price: money(price, spec.currency) }) }),
    });
    if (used > 0) changes.push({ key: "keep", sign: "=", text: t("stock.keeps", { count: used }) });
  }
  return (
    <div className="space-y-2">
      <Changes title={t("stock.whatItDoes")} changes={changes} empty={t("stock.nothingYet")} />
      {price !== null && others.length > 0 && (
        <p className="text-ink-3 text-xs">{t("stock.priceElsewhere", { datacenters: list(others) })}</p>
      )}
    </div>
  );
}
