import type { Across } from "./graph";

const DAY = 86_400;

/** Times of the reader below a chart: hours, days of the week, or dates, by how long it is. */
export function timeAxis(window: readonly [number, number], language: string): Across {
  const days = (window[1] - window[0]) / DAY;
  const long = days > 1.5;
  const time = new Intl.DateTimeFormat(
    language === "en" ? "en-GB" : language,
    days > 14
      ? { day: "numeric", month: "short" }
      : long
        ? { weekday: "short", day: "numeric" }
        : { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  );
  return {
    window,
    isTime: true,
    write: (values) => values.map((value) => time.format(value * 1000)),
    // a day has more characters in Chinese
    space: long ? (language === "en" ? 48 : 66) : 46,
    ...(long && { increments: [1, 2, 7, 14, 30, 60, 90].map((count) => count * DAY) }),
  };
}
