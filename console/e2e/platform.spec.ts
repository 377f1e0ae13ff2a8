import { accessible, choose, expect, fits, test } from "./fixtures";

test("the logs of all services are one list, and a verification says what it found", async ({ page, as }) => {
  await as("mara");
  await page.goto("/admin/audit");
  const table = page.getByRole("table", { name: "Audit" });
  await expect(table.getByRole("row").nth(1)).toBeVisible();
  await page.getByRole("button", { name: "Verify all chains" }).click();
  await expect(page.getByText("All chains are whole")).toBeVisible();
  await page.request.post("/mock/change", { data: { brokenAudit: true } });
  await page.getByRole("button", { name: "Verify all chains" }).click();
  await expect(page.getByText("1 entry was changed")).toBeVisible();
  await expect(page.getByText("Storages: entry 17 of Atlas Animation")).toBeVisible();
  await accessible(page);
  await page.getByRole("link", { name: "Stock" }).last().click();
  await expect(page).toHaveURL(/log=stock/);
  await expect(table.getByRole("row")).toHaveCount(15);
});

test("what does not answer is shown with its reason, and leads to its log", async ({ page, as }) => {
  await as("mara");
  await page.goto("/admin/health");
  await expect(page.getByText(/^9 modules, of which operator-de-2 needs a look\./)).toBeVisible();
  await expect(page.getByText(/No answer from cluster:de-2/)).toBeVisible();
  await accessible(page);
  await page.getByRole("link", { name: "Log of operator-de-2" }).click();
  const lines = page.getByRole("list", { name: "Logs" });
  await expect(lines.getByRole("listitem").first()).toContainText("cannot reach the cluster");
  await page.getByRole("combobox", { name: "Module" }).click();
  await page.getByRole("option", { name: "All modules" }).click();
  await page.getByRole("combobox", { name: "Minimum level" }).click();
  await page.getByRole("option", { name: "warn" }).click();
  await expect(page).toHaveURL(/level=warn/);
  await expect(lines).not.toContainText("session refreshed");
});

test("signing keys are rotated once, after a warning", async ({ page, as }) => {
  await as("mara");
  await page.goto("/admin/health/keys");
  await page.getByRole("button", { name: "Rotate now…" }).click();
  const dialog = page.getByRole("alertdialog", { name: "Rotate the signing keys now?" });
  await accessible(page);
  await dialog.getByRole("button", { name: "Rotate" }).click();
  await expect(page.getByText("A new key is requested")).toBeVisible();
  await expect(page.getByText(/^signs from/)).toBeVisible();
  await expect(page.getByRole("button", { name: "Rotate now…" })).toHaveAccessibleDescription(
    "A next key is published already. Wait until it signs.",
  );
});

test("the overview shows the units of the platform over time, and leads to those of a datacenter", async ({
  page,
  as,
}) => {
  await as("mara");
  await page.goto("/admin");
  const chart = page.getByRole("region", { name: "Capacity over time" });
  const drawn = chart.getByRole("img", { name: "Units in use, newest: Used 336, Total 444" });
  await expect(drawn).toBeVisible();
  await expect(chart.getByRole("radio", { name: "7 d" })).toBeChecked();
  await expect(chart).toContainText("Nothing was counted");
  await choose(chart, "1 y");
  await expect(page).toHaveURL(/\/admin\?period=year$/);
  await expect(chart).not.toContainText("Nothing was counted");
  await expect(drawn).toBeVisible();
  await accessible(page);
  await choose(chart, "7 d");
  await expect(page).toHaveURL(/\/admin$/);
  await page.setViewportSize({ width: 390, height: 780 });
  await fits(page);
  await page
    .getByRole("region", { name: "Capacity", exact: true })
    .getByRole("link", { name: "uk-1" })
    .click();
  await expect(page.getByRole("heading", { level: 1, name: "uk-1" })).toBeVisible();
});

test.describe("without an answer", () => {
  test.use({ expected: [503] });

  test("the overview says why it has no chart, and shows the rest", async ({ page, as }) => {
    await as("mara");
    await page.request.post("/mock/provoke", {
      data: { operation: "getStockCapacity", slug: "overloaded", times: 9 },
    });
    await page.goto("/admin");
    const chart = page.getByRole("region", { name: "Capacity over time" });
    await expect(chart.getByRole("alert")).toBeVisible();
    await expect(page.getByRole("region", { name: "Capacity", exact: true })).toContainText("146 used");
  });
});
