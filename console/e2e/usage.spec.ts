import { readFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import { accessible, choose, expect, fits, test } from "./fixtures";

/** Cents, so that nothing is lost. */
const cents = (text: string) => Number(/\$([\d,]+\.\d\d)/.exec(text)?.[1]?.replace(/[,.]/g, ""));

const table = (page: Page, by: string) => page.getByRole("table", { name: `Usage by ${by}` });

const jobTable = (page: Page, by: string) => page.getByRole("table", { name: `Jobs by ${by}` });

async function shownSum(page: Page, by: string) {
  const rows = table(page, by).getByRole("row").filter({ hasText: "$" });
  await expect(rows.first()).toBeVisible();
  return (await rows.allTextContents()).reduce((sum, text) => sum + cents(text), 0);
}

/** The sum in words, of the first day of a month. */
const sentence = (page: Page) => page.getByText(/^\$[\d.,]+ from \w{3} 1 /);

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
  await expect(sentence(page)).toContainText(`$${(sum / 100).toFixed(2)} for instances`);
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
  await expect(page.getByText("Instances count in it. Jobs and storages do not.")).toBeVisible();
  await page.request.post("/mock/change", { data: { empty: true } });
  await page.reload();
  await expect(page.getByText("Nothing was used", { exact: true })).toBeVisible();
  await expect(page.getByRole("img", { name: /^Cost by day .*: nothing\.$/ })).toBeVisible();
  await accessible(page);
  await choose(page, "Jobs");
  await expect(page.getByText("No job has run", { exact: true })).toBeVisible();
  await expect(page.getByRole("link", { name: "Make pictures" })).toHaveAttribute("href", "/jobs/new");
});

test("jobs stand beside instances: both add up to the sum, in words and in the chart", async ({
  page,
  as,
}) => {
  await as("mira");
  await page.goto("/usage?period=last-month");
  const ofInstances = await total(page);
  await choose(page, "Jobs");
  await expect(page).toHaveURL("/usage?period=last-month&of=jobs");
  await expect(jobTable(page, "Day")).toBeVisible();
  const ofJobs = await total(page);
  expect(ofJobs).toBeGreaterThan(0);
  const text = (await sentence(page).textContent()) ?? "";
  expect(cents(text)).toBe(ofInstances + ofJobs);
  expect(text).toContain(`$${(ofJobs / 100).toFixed(2)} for jobs`);
  const chart = page.getByRole("img", { name: /^Cost by day/ });
  await expect(chart).toHaveAccessibleName(
    new RegExp(`\\$${(ofJobs / 100).toFixed(2).replace(".", "\\.")}$`),
  );
  for (const by of ["Kind", "Pool", "GPU", "Charge"]) {
    await choose(page, by);
    await expect(jobTable(page, by)).toBeVisible();
    expect(await total(page)).toBe(ofJobs);
    const rows = jobTable(page, by).getByRole("row").filter({ hasText: "$" });
    const shown = await rows.allTextContents();
    expect(shown.reduce((sum, row) => sum + cents(row), 0)).toBe(ofJobs);
  }
  await accessible(page);
  // the other table has its own groupings
  await choose(page, "Instances");
  await expect(page).toHaveURL("/usage?period=last-month");
  await expect(table(page, "Day")).toBeVisible();
});

test("what of jobs was not charged stands apart, with its reason, in the table and the file", async ({
  page,
  as,
}) => {
  await as("jonas");
  await page.goto("/usage?period=last-month&of=jobs&by=charge");
  const row = (name: string) =>
    jobTable(page, "Charge").getByRole("row").filter({ hasText: name }).filter({ hasText: "$" });
  await expect(row("Charged")).toContainText(/\d h/);
  for (const reason of ["Loading", "The worker was lost", "The job failed"]) {
    const cells = row(reason).getByRole("cell");
    // charged, not charged, share, cost
    await expect(cells.nth(2)).toHaveText("–");
    await expect(cells.nth(3)).toHaveText(/\d h$/);
    await expect(cells.nth(4)).toHaveText("0%");
    await expect(cells.nth(5)).toHaveText("$0.00");
  }
  await expect(page.getByText(/· Not charged [\d.]+ h/)).toBeVisible();
  const waits = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV" }).click();
  const file = await waits;
  expect(file.suggestedFilename()).toMatch(/^job-usage_\d{4}-\d\d-01_\d{4}-\d\d-\d\d_charge\.csv$/);
  const [head, ...lines] = (await readFile(await file.path(), "utf8")).trim().split("\r\n");
  expect(head).toBe("charge,attempts,seconds,uncharged_seconds,amount,currency");
  const last = lines.pop()?.split(",") ?? [];
  const amounts = lines.map((line) => exact(line.split(",").at(-2) ?? ""));
  expect(amounts.reduce((all, one) => all + one, 0n)).toBe(exact(last[4] ?? ""));
  expect(lines.filter((line) => !line.startsWith("charged")).every((line) => line.endsWith(",0,USD"))).toBe(
    true,
  );
  await page.setViewportSize({ width: 390, height: 780 });
  await accessible(page);
  await fits(page);
});

test("the curl line asks for the table that is shown", async ({ page, as }) => {
  await as("mira");
  await page.addInitScript(() => {
    navigator.clipboard.writeText = async (text) => {
      document.body.dataset.copied = text;
    };
  });
  await page.goto("/usage?of=jobs&by=pool");
  await page.getByRole("button", { name: "Copy as curl" }).click();
  await expect(page.locator("body")).toHaveAttribute("data-copied", /\/v1\/job-usage\?.*group_by=pool/);
  await choose(page, "Instances");
  await page.getByRole("button", { name: "Copy as curl" }).click();
  await expect(page.locator("body")).toHaveAttribute("data-copied", /\/v1\/usage\?.*group_by=day/);
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
  await expect(budget.getByRole("row", { name: /100%/ })).not.toContainText("at the current rate");
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
