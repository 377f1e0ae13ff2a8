import type { Page } from "@playwright/test";
import { accessible, expect, fits, test } from "./fixtures";

const row = (page: Page, spec: string, datacenter: string) =>
  page.getByRole("row").filter({ hasText: spec }).filter({ hasText: datacenter });
const operations = (page: Page) => page.getByRole("region", { name: "Operations" });
const update = (page: Page, spec: string, datacenter: string) =>
  page.getByRole("button", { name: `Update stock: ${spec} in ${datacenter}` });

/** What another administrator does: the page does not know of it. */
async function changeSpec(page: Page, name: string, data: object) {
  const { items } = await (await page.request.get("/v1/gpu-specs")).json();
  const { id } = items.find((it: { name: string }) => it.name === name);
  const answer = await page.request.patch(`/v1/gpu-specs/${id}`, { data, headers: { "if-match": "*" } });
  expect(answer.ok()).toBe(true);
}

test("the difference is written out before the press, and the numbers follow it", async ({ page, as }) => {
  await as("mara");
  await page.goto("/admin/stock");
  await expect(page.getByText("7 specifications in 4 datacenters. 96 of 444 units")).toBeVisible();
  await update(page, "4090-small-4-1", "uk-1").click();
  const dialog = page.getByRole("dialog", { name: "Update stock" });
  await expect(dialog.getByLabel("Available", { exact: true })).toBeFocused();
  const what = dialog.getByRole("status").filter({ hasText: "What this does" });
  await expect(what).toContainText("Nothing yet");
  await dialog.getByRole("button", { name: "One more" }).click();
  await dialog.getByLabel("Available", { exact: true }).fill("12");
  await dialog.getByLabel("Price").fill("0.79");
  await expect(what).toContainText("Adds 4 units in uk-1");
  await expect(what).toContainText("New starts cost $0.79/h from now on");
  await expect(what).toContainText("95 units in use keep the price of their start");
  await expect(dialog).toContainText("new starts in de-2 and us-1 cost the same");
  await accessible(page);
  const bodies: unknown[] = [];
  page.on("request", (it) => {
    if (it.method() !== "GET") bodies.push(it.postDataJSON());
  });
  await page.keyboard.press("Enter");
  await expect(dialog).toBeHidden();
  expect(bodies).toEqual([
    { price_per_hour: "0.79" },
    { gpu_spec: "4090-small-4-1", datacenter: "uk-1", count: 4 },
  ]);
  await expect(operations(page).getByText("adding 4")).toBeVisible();
  // without a reload
  await expect(operations(page).getByText("added 4", { exact: false })).toBeVisible();
  await expect(row(page, "4090-small-4-1", "uk-1")).toContainText("12");
  await expect(row(page, "4090-small-4-1", "uk-1")).toContainText("$0.79/h");
  await expect(page.getByText("100 of 448 units are available")).toBeVisible();
});

test("a removal says that inactive units go first, and room is what a designer sees", async ({
  page,
  as,
}) => {
  await as("mara");
  await page.goto("/admin/stock?edit=3080-small-4-1@de-2");
  const dialog = page.getByRole("dialog", { name: "Update stock" });
  await dialog.getByLabel("Available", { exact: true }).fill("20");
  await expect(dialog).toContainText("Removes 5 units in de-2: inactive ones go first, 3 of them");
  await dialog.getByRole("button", { name: "Update stock" }).click();
  await expect(operations(page).getByText("removed 5", { exact: false })).toBeVisible();
  await page.goto("/admin/stock?edit=4090-small-4-1@us-1");
  await dialog.getByLabel("Available", { exact: true }).fill("6");
  await dialog.getByRole("button", { name: "Update stock" }).click();
  await expect(operations(page).getByText("added 6", { exact: false })).toBeVisible();
  await as("mira");
  await page.goto("/instances/new?gpu=4090-small-4-1");
  const card = page.locator("label").filter({ has: page.locator('[value="4090-small-4-1"]') });
  await expect(card.locator("span").filter({ hasText: /^us-1many$/ })).toBeVisible();
});

test.describe("refusals", () => {
  test.use({ expected: [409, 412, 422] });

  test("units that others took are not removed: said in the dialog, with what is free", async ({
    page,
    as,
  }) => {
    await as("mara");
    await page.goto("/admin/stock?edit=3080-small-8-1@de-2");
    const dialog = page.getByRole("dialog", { name: "Update stock" });
    await dialog.getByLabel("Available", { exact: true }).fill("2");
    await page.request.post("/mock/change", {
      data: { stock: { spec: "3080-small-8-1", datacenter: "de-2", available: 4 } },
    });
    await dialog.getByRole("button", { name: "Update stock" }).click();
    await expect(dialog.getByRole("alert")).toContainText("4 units of 3080-small-8-1 in de-2 are free.");
    await expect(dialog.getByLabel("Available", { exact: true })).toHaveValue("2");
    // the plan is about the numbers of now
    await expect(dialog).toContainText("Removes 2 units in de-2");
    await accessible(page);
    await dialog.getByRole("button", { name: "Update stock" }).click();
    await expect(operations(page).getByText("removed 2", { exact: false })).toBeVisible();
  });

  test("two administrators at once: what changed is shown, what was typed stays", async ({ page, as }) => {
    await as("mara");
    await page.goto("/admin/stock?edit=l40s-small-8-1@de-2");
    const dialog = page.getByRole("dialog", { name: "Update stock" });
    await dialog.getByLabel("Price").fill("1.20");
    await changeSpec(page, "l40s-small-8-1", { price_per_hour: "1.15" });
    await dialog.getByRole("button", { name: "Update stock" }).click();
    await expect(dialog.getByRole("alert")).toContainText("Somebody else has changed this meanwhile");
    await expect(dialog.getByRole("alert")).toContainText("Price: $1.12/h $1.15/h");
    await expect(dialog.getByLabel("Price")).toHaveValue("1.20");
    await expect(dialog.getByLabel("Price")).toHaveAccessibleDescription("$1.15/h now.");
    await accessible(page);
    await dialog.getByRole("button", { name: "Update stock" }).click();
    await expect(row(page, "l40s-small-8-1", "de-2")).toContainText("$1.20/h");
  });

  test("several rows at once, each with its own progress and refusal", async ({ page, as, provoke }) => {
    await as("mara");
    await page.goto("/admin/stock?name=small-4-1");
    await page.getByRole("checkbox", { name: "Choose 4090-small-4-1 in de-2" }).check();
    await page.getByRole("checkbox", { name: "Choose a100-small-4-1 in de-2" }).check();
    await page.getByRole("checkbox", { name: "Choose 3080-small-4-1 in sg-1" }).check();
    await page.getByRole("button", { name: "Add units…" }).click();
    const ask = page.getByRole("dialog", { name: "Add units in 3 rows" });
    await expect(ask).toContainText("A draining datacenter takes no new stock.");
    await ask.getByLabel("Units of 4090-small-4-1 in de-2").fill("8");
    await ask.getByLabel("Units of a100-small-4-1 in de-2").fill("4");
    await expect(ask).toContainText("2 available, 10 after it");
    await accessible(page);
    await provoke({ operation: "addStock", slug: "too-many-operations" });
    await ask.getByRole("button", { name: "Add 12 units" }).click();
    const dialog = page.getByRole("dialog");
    await expect(dialog.getByRole("button", { name: "Try again" })).toBeVisible();
    await expect(dialog.getByRole("status")).toContainText("1 failed");
    await dialog.getByRole("button", { name: "Try again" }).click();
    // the cluster has room for two of four
    await expect(dialog).toContainText("a100-small-4-1 in de-2 2 of 4");
    await expect(dialog).toContainText("no room for a100-small-4-1");
    await expect(dialog.getByRole("status")).toContainText("1 of 2 rows are done, 1 failed");
    await accessible(page);
    await dialog.getByRole("button", { name: "Done" }).click();
    await expect(operations(page).getByText("2 of 4 have no place").first()).toBeVisible();
  });
});

test("by keyboard: to the page, through a dialog, and back to where it began", async ({ page, as }) => {
  await as("mara");
  await page.goto("/admin/datacenters");
  await expect(page.getByRole("table")).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await expect(page).toHaveURL("/admin/stock");
  await expect(page.getByRole("main")).toBeFocused();
  await update(page, "h100-small-16-1", "us-1").focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(update(page, "h100-small-16-1", "us-1")).toBeFocused();
});

test("units are found by their state, and tell who held them", async ({ page, as }) => {
  await as("mara");
  await page.goto("/admin/stock");
  await page.getByRole("link", { name: "2 inactive units of a100-small-4-1 in de-2" }).click();
  await expect(page).toHaveURL(/gpu_spec=a100-small-4-1&datacenter=de-2&state=inactive/);
  await expect(page.getByRole("row")).toHaveCount(3);
  await expect(page.getByText("No node has room").first()).toBeVisible();
  await page.getByRole("combobox", { name: "State" }).click();
  await page.getByRole("option", { name: "Used" }).click();
  await expect(page.getByRole("row")).toHaveCount(23);
  await page.getByRole("row").filter({ hasText: "Northlight Studio" }).getByRole("link").first().click();
  await expect(page.getByRole("region", { name: "Holder" })).toContainText("Northlight Studio");
  await accessible(page);
  await page.setViewportSize({ width: 390, height: 780 });
  await fits(page);
  await accessible(page);
});

test("others find nothing, and see no such pages", async ({ page, as }) => {
  await as("mira");
  for (const path of ["stock", "units", "gpu-specs", "storage-specs", "services", "datacenters"]) {
    await page.goto(`/admin/${path}`);
    await expect(page.getByRole("heading", { name: "There is nothing here" })).toBeVisible();
  }
  await page.goto("/instances");
  await expect(page.getByRole("navigation", { name: "Main" })).not.toContainText("Stock");
});
