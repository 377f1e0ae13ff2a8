import { dateFormat } from "./intl";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

interface Units {
  hour: string;
  minute: string;
  /** After the number of minutes when it comes last. */
  minutes: string;
  second: string;
  between: string;
}

const units: Record<"en" | "zh-CN", Units> = {
  en: { hour: "h", minute: "m", minutes: "m", second: "s", between: " " },
  "zh-CN": { hour: "小时", minute: "分", minutes: "分钟", second: "秒", between: "" },
};
const unitsOf = (language: string) => units[language === "zh-CN" ? language : "en"];

const two = (value: number) => String(value).padStart(2, "0");

/** `4h 03m 12s`, `42m 06s`, `9s`: what counts up, to the second. */
export function formatDuration(seconds: number, language: string): string {
  const { hour, minute, second, between } = unitsOf(language);
  const all = Math.max(0, Math.floor(seconds));
  const [h, m, s] = [Math.floor(all / HOUR), Math.floor((all % HOUR) / MINUTE), all % MINUTE];
  if (h > 0) return [`${h}${hour}`, `${two(m)}${minute}`, `${two(s)}${second}`].join(between);
  return m > 0 ? [`${m}${minute}`, `${two(s)}${second}`].join(between) : `${s}${second}`;
}

/** `4h 03m`, `42m`: the same without its seconds. */
export function formatMinutes(seconds: number, language: string): string {
  const { hour, minute, minutes, between } = unitsOf(language);
  const [h, m] = [Math.floor(seconds / HOUR), Math.floor((seconds % HOUR) / MINUTE)];
  return h > 0 ? [`${h}${hour}`, `${two(m)}${minute}`].join(between) : `${m}${minutes}`;
}

/** `40s`, `12m`, `1h 5m`: what nobody knows to the second. */
export function formatAbout(seconds: number, language: string): string {
  const { hour, minutes, second, between } = unitsOf(language);
  if (seconds < 90)
    return `${seconds < 10 ? Math.max(1, Math.round(seconds)) : Math.round(seconds / 5) * 5}${second}`;
  const all = Math.round(seconds / MINUTE);
  const [h, m] = [Math.floor(all / 60), all % 60];
  return [h > 0 && `${h}${hour}`, m > 0 && `${m}${minutes}`].filter(Boolean).join(between);
}

/** Which of two moments is earlier (negative: the first), to the microseconds that `Date` drops. */
export function compareTimes(a: string, b: string): number {
  const fraction = (text: string) => (/\.(\d+)/.exec(text)?.[1] ?? "").padEnd(9, "0");
  return Date.parse(a) - Date.parse(b) || fraction(a).localeCompare(fraction(b));
}

/** "5 minutes ago", "in 3 days". Below a minute, "now". */
export function formatRelative(at: string, now: number, language: string): string {
  const seconds = Math.round((Date.parse(at) - now) / 1000);
  const format = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  const size = Math.abs(seconds);
  if (size < MINUTE) return format.format(0, "second");
  if (size < HOUR) return format.format(Math.trunc(seconds / MINUTE), "minute");
  if (size < DAY) return format.format(Math.trunc(seconds / HOUR), "hour");
  return format.format(Math.trunc(seconds / DAY), "day");
}

/** "26 Nov 2026, 14:02", in the zone of the reader. */
export function formatTime(at: string, language: string): string {
  return dateFormat(locale(language), { dateStyle: "medium", timeStyle: "short" }).format(new Date(at));
}

/** "14:02" of today, else with the day before it. */
export function formatClock(at: string, language: string): string {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  return dateFormat(locale(language), {
    ...(!isToday && { weekday: "short", day: "numeric", month: "short" }),
    hour: "2-digit",
    minute: "2-digit",
  }).format(date);
}

/** "14:02:09" of today, else with the day before it: where seconds count. */
export function formatSeconds(at: string, language: string): string {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  return dateFormat(locale(language), {
    ...(!isToday && { day: "numeric", month: "short" }),
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  }).format(date);
}

/** "26 Nov, 22:36–22:48". */
export function formatSpan(from: number, to: number, language: string): string {
  const isToday = new Date(from).toDateString() === new Date().toDateString();
  return dateFormat(locale(language), {
    ...(!isToday && { day: "numeric", month: "short" }),
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }).formatRange(from, to);
}

/** "30 Nov", of a day in UTC. */
export function formatShortDay(at: number, language: string): string {
  return dateFormat(locale(language), {
    day: "numeric",
    month: "short",
    timeZone: "UTC",
  }).format(at);
}

/** "Thu 26". */
export function formatWeekday(at: number, language: string): string {
  return dateFormat(locale(language), { weekday: "short", day: "numeric" }).format(at);
}

/** "26 Nov 2026". */
export function formatDay(at: string, language: string): string {
  return dateFormat(locale(language), { dateStyle: "medium" }).format(new Date(at));
}

/** "Thu 26 Nov", of a day of UTC (`2026-11-26`). */
export function formatUtcDay(day: string, language: string): string {
  return dateFormat(locale(language), {
    weekday: "short",
    day: "numeric",
    month: "short",
    timeZone: "UTC",
  }).format(new Date(day));
}

/** "November", of the month in UTC. */
export function formatUtcMonth(at: string | number, language: string): string {
  return dateFormat(locale(language), { month: "long", timeZone: "UTC" }).format(new Date(at));
}

/** English dates are written day first, as everywhere in the console. */
const locale = (language: string) => (language === "en" ? "en-GB" : language);
