import { accessible, expect, test } from "./fixtures";

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
  await page.getByRole("combobox", { name: "Least level" }).click();
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
