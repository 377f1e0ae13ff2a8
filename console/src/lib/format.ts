import { useText } from "@/i18n";
import { type Amount, formatMoney } from "./money";
import { formatDay, formatRelative, formatTime } from "./time";

/** The functions of money and time in the reader's language. */
export function useFormat() {
  const { language } = useText();
  return {
    money: (amount: Amount, currency: string) => formatMoney(amount, currency, language),
    time: (at: string) => formatTime(at, language),
    day: (at: string) => formatDay(at, language),
    relative: (at: string, now: number) => formatRelative(at, now, language),
  };
}
