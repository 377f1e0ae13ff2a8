import type { Text } from "@/i18n";

const browsers: [RegExp, string][] = [
  [/Edg\//, "Edge"],
  [/OPR\//, "Opera"],
  [/Firefox\//, "Firefox"],
  [/(Headless)?Chrom(e|ium)\//, "Chrome"],
  [/Safari\//, "Safari"],
];
const systems: [RegExp, string][] = [
  [/iPhone/, "iPhone"],
  [/iPad/, "iPad"],
  [/Android/, "Android"],
  [/Mac OS X/, "macOS"],
  [/Windows/, "Windows"],
  [/Linux/, "Linux"],
];

/** "Firefox on macOS", or the first word of what a program calls itself. */
export function clientName(userAgent: string | null, t: Text): string {
  if (!userAgent) return t("ui.clientUnknown");
  const find = (of: [RegExp, string][]) => of.find(([pattern]) => pattern.test(userAgent))?.[1];
  const [browser, system] = [find(browsers), find(systems)];
  if (browser && system) return t("ui.clientOn", { browser, system });
  return userAgent.split(/[/\s]/)[0] || t("ui.clientUnknown");
}
