import { request as send } from "node:http";
import type { Browser } from "@playwright/test";
import { type Visit, visit } from "./browser.ts";

/** The button of a row, which opens its menu. */
const BUTTON = 'main button[aria-label^="Actions for"]';

type Session = Parameters<typeof visit>[1];

export interface Load {
  /** Milliseconds from the beginning of the navigation until rows are drawn. */
  rows: number;
  /** The same until the page takes a click on one, sent as soon as it is drawn. */
  taken: number;
  /** The same until the menu that the click has opened is drawn. */
  answered: number;
}

/** Opens a list in a new browser, and the menu of its first row as soon as it is there. */
export async function load(browser: Browser, session: Session, path: string, slowdown = 1): Promise<Load> {
  const it = await visit(browser, session);
  const { page } = it;
  if (slowdown > 1) {
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  }
  await page.addInitScript((button) => {
    const mark = (name: string, selector: string) => {
      const observer = new MutationObserver(() => {
        if (!document.querySelector(selector)) return;
        observer.disconnect();
        // after the frame that shows it
        requestAnimationFrame(() => setTimeout(() => performance.mark(name)));
      });
      observer.observe(document, { childList: true, subtree: true });
    };
    mark("rows", button);
    mark("answered", '[role="menu"]');
    addEventListener("click", () => performance.mark("taken"), { capture: true, once: true });
  }, BUTTON);
  await page.goto(path, { waitUntil: "commit" });
  const place = await page.waitForFunction((button) => {
    if (performance.getEntriesByName("rows").length === 0) return null;
    const box = document.querySelector(button)?.getBoundingClientRect();
    return box && { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  }, BUTTON);
  const at = await place.jsonValue();
  if (!at) throw new Error(`${path} has no rows`);
  await page.mouse.click(at.x, at.y);
  await page.waitForFunction(() => performance.getEntriesByName("answered").length > 0);
  const [rows = Number.NaN, taken = Number.NaN, answered = Number.NaN] = await page.evaluate(() =>
    ["rows", "taken", "answered"].map((name) => performance.getEntriesByName(name)[0]?.startTime),
  );
  await it.settled();
  await it.end();
  return { rows, taken, answered };
}

/** What the first load asks for. */
export interface Asked {
  requests: number;
  /** KiB of script, gzip, as the gateway sends it to those who take nothing else. */
  script: number;
  /** KiB of script as it was sent, with its encodings. */
  sent: number;
  encodings: string[];
}

export async function asked(browser: Browser, session: Session, path: string): Promise<Asked> {
  const it = await visit(browser, session);
  await it.page.goto(path);
  await it.page.locator(BUTTON).first().waitFor();
  await it.settled();
  const scripts = it.requests.filter((request) => request.resourceType() === "script");
  let [script, sent] = [0, 0];
  const encodings = new Set<string>();
  for (const request of scripts) {
    script += await lengthOf(request.url());
    sent += (await request.sizes()).responseBodySize;
    encodings.add((await (await request.response())?.headerValue("content-encoding")) ?? "none");
  }
  const requests = it.requests.length;
  await it.end();
  return { requests, script: script / 1024, sent: sent / 1024, encodings: [...encodings] };
}

function lengthOf(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asking = send(url, { headers: { "accept-encoding": "gzip" } }, (answer) => {
      if (answer.headers["content-encoding"] !== "gzip") return reject(new Error(`${url} is not gzip`));
      let length = 0;
      answer.on("data", (part: Buffer) => {
        length += part.length;
      });
      answer.on("end", () => resolve(length));
    });
    asking.on("error", reject);
    asking.end();
  });
}

/** Milliseconds between the frames while the list is scrolled for two seconds, at 3,000 pixels a second. */
export async function scroll({ page, settled }: Visit, path: string): Promise<number[]> {
  await page.goto(path);
  await page.locator(BUTTON).first().waitFor();
  await settled();
  return page.evaluate(async () => {
    const box = [...document.querySelectorAll('[role="rowgroup"]')].find(
      (it) => it.scrollHeight > it.clientHeight && getComputedStyle(it).overflowY === "auto",
    );
    if (!box) throw new Error("nothing scrolls");
    box.scrollIntoView({ block: "center" });
    const times: number[] = [];
    await new Promise<void>((resolve) => {
      const step = (now: number) => {
        const before = times.at(-1) ?? now;
        times.push(now);
        box.scrollTop += (now - before) * 3;
        if (now - (times[0] ?? now) < 2000) requestAnimationFrame(step);
        else resolve();
      };
      requestAnimationFrame(step);
    });
    return times.slice(1).map((now, n) => now - (times[n] ?? now));
  });
}
