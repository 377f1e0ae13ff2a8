import { readFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import { accessible, choose, expect, fits, test } from "./fixtures";

/** Cents, so that nothing is lost. */
const cents = (text: string) => Number(/\$([\d,]+\.\d\d)/.exec(text)?.[1]?.replace(/[,.]/g, ""));

const table = (page: Page, by: string) => page.getByRole("table", { name: `Usage by ${by}` });

async function shownSum(page: Page, by: string) {
  const rows = table(page, by).getByRole("row").filter({ hasText: "$" });
  await expect(rows.first()).toBeVisible();
  return (await rows.allTextContents()).reduce((sum, text) => sum + cents(text), 0);
}

const total = async (page: Page) => cents((await page.getByText(/^Together \$/).textContent()) ?? "");

/** Decimals in millionths. */
const exact = (text: string) => {
  const [whole = "0", part = ""] = text.split(".");
  return BigInt(whole) * 1_000_000n + BigInt(part.padEnd(6, "0"));
};

test("each table adds up to the sum, and the file does to the last digit", async ({ page, as }) => {
  await as("mira");
  await page.goto("/usage?period=last-month");
  const sum = await total(page);
  expect(sum).toBeGreaterThan(0);
  expect(await shownSum(page, "Day")).toBe(sum);
  await expect(page.getByText(/^\$[\d.]+ from Thu 1 Oct to|^\$[\d.]+ from \w{3} 1 /)).toContainText(
    `$${(sum / 100).toFixed(2)}`,
  );
  for (const by of ["GPU", "Instance", "Kind"]) {
    await choose(page, by);
    await expect(table(page, by)).toBeVisible();
    expect(await total(page)).toBe(sum);
    expect(await shownSum(page, by)).toBe(sum);
  }
  await choose(page, "Instance");
  await expect(table(page, "Instance").getByRole("link", { name: "poster-march" })).toBeVisible();
  const waits = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV" }).click();
  const file = await waits;
  expect(file.suggestedFilename()).toMatch(/^usage_\d{4}-\d\d-01_\d{4}-\d\d-\d\d_instance\.csv$/);
  const [head, ...lines] = (await readFile(await file.path(), "utf8")).trim().split("\r\n");
  expect(head).toBe("instance,name,running_seconds,held_seconds,amount,currency");
  const last = lines.pop()?.split(",") ?? [];
  const amounts = lines.map((line) => exact(line.split(",").at(-2) ?? ""));
  expect(amounts.reduce((all, one) => all + one, 0n)).toBe(exact(last[4] ?? ""));
  expect(Math.round(Number(last[4]) * 100)).toBe(sum);
});

test("the period is in the address, and back leads to the one before", async ({ page, as }) => {
  await as("mira");
  await page.goto("/usage");
  await choose(page, "Last month");
  await expect(page).toHaveURL("/usage?period=last-month");
  await expect(page.getByText(/^By the end of/)).toBeHidden();
  await choose(page, "Own");
  await page.getByLabel("From", { exact: true }).fill("2026-09-07");
  await page.getByLabel("To", { exact: true }).fill("2026-09-13");
  await expect(page).toHaveURL(/from=%222026-09-07%22|from=2026-09-07/);
  await accessible(page);
  await choose(page, "GPU");
  await expect(page).toHaveURL(/by=spec/);
  await page.goBack();
  await expect(page).not.toHaveURL(/by=spec/);
  await page.goto("/usage?period=last-month&by=spec");
  await expect(page.getByRole("radio", { name: "Last month" })).toBeChecked();
  await expect(table(page, "GPU").getByText("4090-small-4-1")).toBeVisible();
  await page.goto("/usage?period=own&from=nonsense&by=nothing");
  await expect(page.getByRole("heading", { name: "Cost by day" })).toBeVisible();
});

test("what is not in the sum is said, and an empty studio learns what would cost", async ({ page, as }) => {
  await as("jonas");
  await page.goto("/usage");
  await expect(page.getByText(/About \$[\d.]+ a month at today's sizes/)).toBeVisible();
  await expect(
    page.getByText("Their costs count neither here nor in the budget.", { exact: false }),
  ).toBeVisible();
  await page.request.post("/mock/change", { data: { empty: true } });
  await page.reload();
  await expect(page.getByText("Nothing was used", { exact: true })).toBeVisible();
  await expect(page.getByRole("img", { name: /^Cost by day .*: nothing\.$/ })).toBeVisible();
  await accessible(page);
});

test("a spent budget says what was stopped, until when, and who can help", async ({ page, as }) => {
  await as("tomas");
  await page.goto("/usage/limits");
  const budget = page.getByRole("region", { name: "Budget" });
  await expect(budget.getByRole("img", { name: /of \$500\.00 spent/ })).toBeVisible();
  await expect(page.getByText("8 of 10")).toBeVisible();
  await expect(page.getByText("Almost used up")).toBeVisible();
  await page.request.post("/mock/change", { data: { budgetSpent: true } });
  await page.reload();
  await expect(page.getByRole("status").filter({ hasText: "is spent" })).toContainText(
    /Instances are stopped and none can be started until 1 \w+ \d{4}/,
  );
  await expect(budget.getByRole("row", { name: /100%/ })).not.toContainText("at the present rate");
  const change = budget.getByRole("button", { name: "Change the budget" });
  await expect(change).toHaveAttribute("aria-disabled", "true");
  await expect(change).toHaveAccessibleDescription(/Only administrators of the platform/);
  await accessible(page);
  await page.setViewportSize({ width: 390, height: 780 });
  await accessible(page);
  await fits(page);
});

test("by keyboard: to the page, to another period, to the limits", async ({ page, as }) => {
  await as("mira");
  await page.goto("/instances");
  await expect(page.getByRole("heading", { level: 1, name: "Instances" })).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("u");
  await expect(page).toHaveURL("/usage");
  await page.getByRole("radio", { name: "This month" }).focus();
  await page.keyboard.press("ArrowRight");
  await expect(page).toHaveURL("/usage?period=last-month");
  await expect(page.getByRole("radio", { name: "Last month" })).toBeFocused();
  await page
    .getByRole("navigation", { name: "Usage" })
    .getByRole("link", { name: "Budget and limits" })
    .focus();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL("/usage/limits");
});
