import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, type Page } from "@playwright/test";
import type axe from "axe-core";

const source = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

declare global {
  interface Window {
    axe?: typeof axe;
  }
}

/** No fault that axe finds, in WCAG 2.2 AA. */
export async function accessible(page: Page) {
  // a document keeps it; the package's own runner puts it into two pages each time, and takes ten times as long
  if (!(await page.evaluate(() => Boolean(window.axe)))) await page.evaluate(source);
  const faults = await page.evaluate(async () => {
    if (!window.axe) throw new Error("axe is not in the page");
    // in the letters that stand in until then, a table may be too wide for a moment
    await document.fonts.ready;
    await new Promise(requestAnimationFrame);
    const { violations } = await window.axe.run({
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
      resultTypes: ["violations"],
    });
    return violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map((it) => `${it.target} ${it.any[0]?.message ?? ""}`)}`,
    );
  });
  expect(faults).toEqual([]);
}
