import { useText } from "@/i18n";
import { StockLegend as Legend } from "@/ui/stock-bar";

export function StockLegend() {
  const { t } = useText();
  return (
    <Legend
      words={{ used: t("stock.used"), available: t("stock.available"), inactive: t("stock.inactive") }}
    />
  );
}
