import type { Across } from "@/ui/charts/graph";

/** Times of the reader below a chart: hours, or days where there are more than one and a half. */
export function timeAxis(window: readonly [number, number], language: string): Across {
  const long = window[1] - window[0] > 36 * 3600;
  const time = new Intl.DateTimeFormat(
    language === "en" ? "en-GB" : language,
    long ? { weekday: "short", day: "numeric" } : { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  );
  return {
    window,
    isTime: true,
    write: (values) => values.map((value) => time.format(value * 1000)),
    space: long ? 48 : 46,
    ...(long && { increments: [86_400] }),
  };
}
