import { type CapacityPeriod, capacityPeriodNames } from "@/api/capacity-periods";
import { useText } from "@/i18n";
import { Segmented } from "@/ui/segmented";

/** How far back a chart of capacity goes. */
export function PeriodChoice({
  value,
  onChange,
}: {
  value: CapacityPeriod;
  onChange: (period: CapacityPeriod) => void;
}) {
  const { t } = useText();
  return (
    <Segmented
      label={t("stock.period")}
      value={value}
      choices={capacityPeriodNames.map((name) => ({ value: name, label: t(`stock.period_${name}`) }))}
      onChange={onChange}
    />
  );
}
