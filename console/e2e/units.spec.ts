import type { Page } from "@playwright/test";
import { accessible, choose, expect, fits, test } from "./fixtures";

const rows = (page: Page) => page.getByRole("row").filter({ has: page.getByRole("link") });

test("the units of a node and of a holder have an address, which can be sent and left again", async ({
  page,
  as,
}) => {
  await as("mara");
  await page.goto("/admin/units?gpu_spec=4090-small-4-1&datacenter=uk-1");
  await rows(page)
    .first()
    .getByRole("link", { name: /^uk1-gpu-\d+$/ })
    .click();
  await expect(page).toHaveURL(/gpu_spec=4090-small-4-1.*node=uk1-gpu-\d+/);
  const node = new URL(page.url()).searchParams.get("node") ?? "";
  await expect(page.getByRole("searchbox")).toHaveValue(node);
  const count = await rows(page).count();
  expect(count).toBeGreaterThan(0);
  await expect(rows(page).filter({ hasText: node })).toHaveCount(count);
  await page.goBack();
  await expect(page.getByRole("searchbox")).toHaveValue("");

  await page.getByRole("combobox", { name: "Holder" }).click();
  await page.getByRole("option", { name: "Northlight Studio" }).click();
  await expect(page).toHaveURL(/tenant_id=ten_/);
  await expect(rows(page).first()).toContainText("Northlight Studio");
  const held = await rows(page).count();
  await expect(rows(page).filter({ hasText: "Northlight Studio" })).toHaveCount(held);
  await page.reload();
  await expect(rows(page)).toHaveCount(held);
  await accessible(page);
  await page.setViewportSize({ width: 390, height: 780 });
  await fits(page);
  await accessible(page);
  await page.getByRole("searchbox").fill("no-such-node");
  await expect(page.getByText("No unit matches")).toBeVisible();
});

test.describe("removal", () => {
  test.use({ expected: [409] });

  test("one unit goes by its menu, and one that is taken meanwhile stays: the dialog says who has it", async ({
    page,
    as,
    provoke,
  }) => {
    await as("mara");
    await page.goto("/admin/units?gpu_spec=3080-small-8-1&datacenter=us-1&state=inactive");
    await expect(rows(page)).toHaveCount(2);
    const name = (await rows(page).first().getByRole("link").first().textContent()) ?? "";
    const menu = page.getByRole("button", { name: `Actions for ${name}` });
    await menu.click();
    await page.getByRole("menuitem", { name: "Remove this unit…" }).click();
    const dialog = page.getByRole("alertdialog", { name: `Remove ${name}?` });
    await expect(dialog).toContainText("3080-small-8-1 in us-1");
    await accessible(page);
    await provoke({ operation: "removeStockUnit", slug: "unit-in-use" });
    await dialog.getByRole("button", { name: "Remove unit" }).click();
    await expect(dialog.getByRole("alert")).toContainText("Stop or delete the instance");
    await dialog.getByRole("button", { name: "Remove unit" }).click();
    await expect(dialog).toBeHidden();
    await expect(page.getByText(`${name} is being removed`)).toBeVisible();
    await expect(rows(page)).toHaveCount(1);
    await page.goto("/admin/stock");
    await expect(
      page.getByRole("region", { name: "Operations" }).getByText("removed 1", { exact: false }).first(),
    ).toBeVisible();
  });

  test("a used unit says why it stays", async ({ page, as }) => {
    await as("mara");
    await page.goto("/admin/units?state=used");
    await rows(page).first().getByRole("button").click();
    const entry = page.getByRole("menuitem", { name: "Remove this unit…" });
    await expect(entry).toContainText("An instance holds it.");
    await expect(entry).toHaveAttribute("aria-disabled", "true");
    await accessible(page);
  });
});

test("a datacenter shows its units over time, and when nothing was counted", async ({ page, as }) => {
  await as("mara");
  await page.goto("/admin/datacenters");
  await page.getByRole("link", { name: "uk-1", exact: true }).first().click();
  const chart = page.getByRole("region", { name: "Capacity over time" });
  await expect(chart.getByRole("img", { name: /^Units in use, newest: Used \d/ })).toBeVisible();
  await expect(chart).not.toContainText("Nothing was counted");
  await choose(chart, "7 d");
  await expect(page).toHaveURL(/period=week/);
  await expect(chart).toContainText("Nothing was counted");
  await expect(chart).toContainText("Units were available all the time.");
  const drawn = chart.getByRole("img", { name: /^Units in use/ });
  const all = (await drawn.getAttribute("aria-label")) ?? "";
  await chart.getByRole("combobox", { name: "Specification" }).click();
  await page.getByRole("option", { name: "h100-small-16-1" }).click();
  await expect(page).toHaveURL(/period=week.*gpu_spec=h100-small-16-1/);
  await expect(drawn).not.toHaveAttribute("aria-label", all);
  await expect(drawn).toHaveAttribute("aria-label", /newest: Used 16, Total 16/);
  await expect(chart).toContainText(/Sold out at some moment in \d+ of 16\d hours/);
  await accessible(page);
  await page.setViewportSize({ width: 390, height: 780 });
  await fits(page);
});
