// Measures a running platform in Chromium: `cargo xtask bench console` starts it, and gives its tenant very many rows.
import { launch, rounds, signIn, visit } from "./browser.ts";
import { rename } from "./events.ts";
import { type Figure, median, quantile, tell } from "./figures.ts";
import { asked, load, scroll } from "./loads.ts";
import { find } from "./palette.ts";

const lists = { instances: "/instances", jobs: "/jobs" };

const browser = await launch();
const session = await signIn(browser);

async function repeat<T>(what: () => Promise<T>): Promise<T[]> {
  const all: T[] = [];
  for (let n = 0; n < rounds; n++) all.push(await what());
  return all;
}
const say = (figure: Figure) => {
  tell(figure);
  return median(figure.values);
};

const answered: number[] = [];
for (const [name, path] of Object.entries(lists)) {
  for (const slowdown of [1, 4]) {
    const loads = await repeat(() => load(browser, session, path, slowdown));
    const what = `${name}, first load${slowdown > 1 ? `, CPU ${slowdown} × slower` : ""}`;
    say({ what: `${what}: rows`, values: loads.map((it) => it.rows), unit: "ms" });
    say({ what: `${what}: takes a click`, values: loads.map((it) => it.taken), unit: "ms", limit: 1000 });
    const values = loads.map((it) => it.answered);
    // four times slower, it is told only: the menu's own time is in it
    const limit = slowdown === 1 ? { limit: 1000 } : {};
    const middle = say({ what: `${what}: a click answered`, values, unit: "ms", ...limit });
    if (slowdown === 1) answered.push(middle);
  }
}

const { requests, script, sent, encodings } = await asked(browser, session, lists.instances);
say({ what: "instances, first load: script, gzip", values: [script], unit: "KiB", limit: 230 });
say({ what: `instances, first load: script, ${encodings.join(" and ")}`, values: [sent], unit: "KiB" });
say({ what: "instances, first load: requests", values: [requests], unit: "" });
const jobs = await asked(browser, session, lists.jobs);
say({ what: "jobs, first load: script, gzip", values: [jobs.script], unit: "KiB", limit: 230 });
say({ what: "jobs, first load: requests", values: [jobs.requests], unit: "" });

for (const [name, path] of Object.entries(lists)) {
  const it = await visit(browser, session);
  const frames = (await repeat(() => scroll(it, path))).flat();
  await it.end();
  say({ what: `${name}, scrolled: a frame`, values: frames, unit: "ms", limit: 17 });
  say({ what: `${name}, scrolled: a frame, p95`, values: [quantile(frames, 0.95)], unit: "ms", limit: 17 });
}

const it = await visit(browser, session);
await it.page.goto(lists.instances);
await it.page.getByRole("row").nth(1).waitFor();
await it.settled();
const names: string[] = await it.page.evaluate(async (limit) => {
  const answer = await fetch(`/v1/instances?sort=created_at&limit=${limit}`);
  return (await answer.json()).items.map((it: { name: string }) => it.name);
}, rounds);
const palettes = [];
for (const name of names) palettes.push(await find(it, name));
say({
  what: "palette: drawn after its keys",
  values: palettes.map((it) => it.opened),
  unit: "ms",
  limit: 100,
});
const found = palettes.map((it) => it.found);
const palette = say({ what: "palette: an instance by its name", values: found, unit: "ms", limit: 100 });

const heard = await rename(it, rounds);
const sinceSent = heard.map((it) => it.sinceSent);
const event = say({
  what: "event: drawn after a change was sent",
  values: sinceSent,
  unit: "ms",
  limit: 200,
});
const sinceAnswered = heard.map((it) => it.sinceAnswered);
say({ what: "event: drawn after the change was answered", values: sinceAnswered, unit: "ms" });
await it.end();
await browser.close();

console.log(
  `console: list_ms=${Math.max(...answered).toFixed(0)} palette_ms=${palette.toFixed(0)} event_ms=${event.toFixed(0)} ` +
    `script_kib=${script.toFixed(1)} requests=${requests}`,
);
