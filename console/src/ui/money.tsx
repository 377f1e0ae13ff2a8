import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { type Amount, parseAmount } from "@/lib/money";

export function Money({ amount, currency }: { amount: Amount; currency: string }) {
  return <span className="num">{useFormat().money(amount, currency)}</span>;
}

/** `$0.74/h`: stands beside each verb that spends, always in this form. */
export function PriceTag({ perHour, currency }: { perHour: string; currency: string }) {
  const { t } = useText();
  const { money } = useFormat();
  return (
    <span className="num font-normal">
      {t("ui.perHour", { price: money(parseAmount(perHour), currency) })}
    </span>
  );
}
