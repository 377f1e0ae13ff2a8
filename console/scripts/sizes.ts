// Fails if the entry, or what a page loads first, is over its budget (KiB of script, gzip).
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const ENTRY = 140;
const PAGE = 220;
const CHART = 30;
const TERMINAL = 86;

interface Chunk {
  file: string;
  imports?: string[];
  isEntry?: boolean;
  isDynamicEntry?: boolean;
}
const manifest: Record<string, Chunk> = JSON.parse(readFileSync("dist/.vite/manifest.json", "utf8"));

function closure(key: string, seen = new Set<string>()): Set<string> {
  if (seen.has(key)) return seen;
  seen.add(key);
  for (const next of manifest[key]?.imports ?? []) closure(next, seen);
  return seen;
}

const size = (keys: Iterable<string>) => {
  const files = new Set([...keys].map((key) => manifest[key]?.file ?? ""));
  return (
    [...files].reduce((sum, file) => sum + gzipSync(readFileSync(`dist/${file}`), { level: 9 }).length, 0) /
    1024
  );
};

const find = (pattern: RegExp) => Object.keys(manifest).filter((key) => pattern.test(key));
const [language = ""] = find(/src\/i18n\/en\/index\.ts$/);
// the entry imports the application when it has asked for the rest
const [app = ""] = find(/src\/app\/app\.tsx$/);
const entry = new Set([...closure("index.html"), ...closure(app)]);
// the shell is around every page after the sign-in
const [shell = ""] = find(/src\/routes\/_app\.tsx\?tsr-split=component/);
// pages for everybody have a frame of their own
const [frame = ""] = find(/src\/routes\/_public\.tsx\?tsr-split=component/);

const rows: [string, number, number][] = [["entry", size(entry), ENTRY]];
for (const key of find(/src\/routes\/.*\?tsr-split=component/)) {
  const parents = key.includes("/_app/")
    ? [...closure(shell)]
    : key.includes("/_public/")
      ? [...closure(frame)]
      : [];
  // tabs are inside the layout of the account, the instance or the storage
  const [layout] = key.includes("/account/")
    ? find(/src\/routes\/_app\/account\.tsx\?tsr-split=component/)
    : key.includes("/instances/$id/")
      ? find(/src\/routes\/_app\/instances\/\$id\.tsx\?tsr-split=component/)
      : key.includes("/storages/$id/")
        ? find(/src\/routes\/_app\/storages\/\$id\.tsx\?tsr-split=component/)
        : [];
  const all = [
    ...entry,
    ...closure(language),
    ...parents,
    ...(layout ? closure(layout) : []),
    ...closure(key),
  ];
  rows.push([key.replace(/^src\/routes\/|\?.*$/g, ""), size(all), PAGE]);
}
// what is loaded when it is shown, without what the instance's page has already
const [layout = ""] = find(/src\/routes\/_app\/instances\/\$id\.tsx\?tsr-split=component/);
const shown = new Set([...entry, ...closure(shell), ...closure(layout)]);
for (const [name, pattern, budget] of [
  ["chart", /instance\/charts\/section\.tsx$/, CHART],
  ["terminal", /instance\/terminal\/screen\.tsx$/, TERMINAL],
] as const) {
  const [key = ""] = find(pattern);
  rows.push([name, size([...closure(key)].filter((one) => !shown.has(one))), budget]);
}
for (const [name, kib, budget] of rows)
  console.log(
    `${name.padEnd(34)} ${kib.toFixed(1).padStart(6)} KiB of ${budget}${kib > budget ? "  OVER" : ""}`,
  );
process.exit(rows.some(([, kib, budget]) => kib > budget) ? 1 : 0);
