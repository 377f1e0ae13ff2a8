import { useText } from "@/i18n";
import { formatBytes } from "./bytes";
import { formatList, formatNumber, numberFormat } from "./intl";
import { type Amount, formatMoney, parseAmount, type Totals } from "./money";
import {
  formatAbout,
  formatClock,
  formatDay,
  formatDuration,
  formatMinutes,
  formatRelative,
  formatSeconds,
  formatShortDay,
  formatSpan,
  formatTime,
  formatUtcDay,
  formatUtcMonth,
  formatWeekday,
} from "./time";

/** The functions of money and time in the reader's language. */
export function useFormat() {
  const { language } = useText();
  return {
    /** A sum, or a price as the API writes it. */
    money: (amount: Amount | string, currency: string) =>
      formatMoney(typeof amount === "string" ? parseAmount(amount) : amount, currency, language),
    /** "40%" of 0.4; with its sign for what rose or fell. */
    percent: (part: number, signed?: "signed") =>
      numberFormat(language, {
        style: "percent",
        maximumFractionDigits: 2,
        ...(signed && { signDisplay: "exceptZero" }),
      }).format(part),
    time: (at: string) => formatTime(at, language),
    /** "$3.57", or "$3.57 and €1.00": nothing of nothing. */
    total: (totals: Totals) =>
      formatList(
        [...totals].map(([currency, amount]) => formatMoney(amount, currency, language)),
        language,
      ),
    /** How long: what counts up, its minutes alone, and what is only about right. */
    duration: (seconds: number) => formatDuration(seconds, language),
    minutes: (seconds: number) => formatMinutes(seconds, language),
    about: (seconds: number) => formatAbout(seconds, language),
    seconds: (at: string) => formatSeconds(at, language),
    span: (from: number, to: number) => formatSpan(from, to, language),
    shortDay: (at: number) => formatShortDay(at, language),
    weekday: (at: number) => formatWeekday(at, language),
    clock: (at: string) => formatClock(at, language),
    /** Sentences one after the other: Chinese has no space between them. */
    sentences: (items: readonly (string | false)[]) =>
      items.filter(Boolean).join(language === "zh-CN" ? "" : " "),
    bytes: (bytes: number) => formatBytes(bytes, language),
    number: (value: number) => formatNumber(value, language),
    list: (items: readonly string[]) => formatList(items, language),
    day: (at: string) => formatDay(at, language),
    utcDay: (day: string) => formatUtcDay(day, language),
    utcMonth: (at: string | number) => formatUtcMonth(at, language),
    relative: (at: string, now: number) => formatRelative(at, now, language),
  };
}
