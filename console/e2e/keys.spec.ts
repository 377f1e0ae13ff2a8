import { accessible, expect, fits, test } from "./fixtures";

test("a key is made with chosen rights, shown once, deleted", async ({ page, as }) => {
  await as("mira");
  await page.goto("/api-keys");
  await page.getByRole("button", { name: "Create a key" }).click();
  const dialog = page.getByRole("dialog", { name: "Create a key" });
  await dialog.getByLabel("Name").fill("nightly backup");
  await dialog.getByRole("combobox", { name: "Rights" }).click();
  await page.getByRole("option", { name: /Chosen one by one/ }).click();
  await accessible(page);
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await expect(dialog.getByText("Choose at least one thing.")).toBeVisible();
  await dialog.getByRole("radiogroup", { name: "Storages" }).getByRole("radio", { name: "Change" }).check();
  await dialog.getByLabel("Requests per second").fill("0");
  await page.keyboard.press("Enter");
  await expect(dialog.getByLabel("Requests per second")).toHaveAccessibleDescription(/Enter a number from 1/);
  await dialog.getByLabel("Requests per second").fill("5");
  await page.setViewportSize({ width: 390, height: 780 });
  await accessible(page);
  await fits(page);
  await page.setViewportSize({ width: 1360, height: 860 });
  await page.keyboard.press("Enter");
  const shown = page.getByRole("dialog", { name: "The key “nightly backup”" });
  await expect(shown.getByText("atl_4kTmQ8sVw2HnZr6XbLc1YdPe5GfJu7Ma0ZBq3xK", { exact: true })).toBeVisible();
  await accessible(page);
  await shown.getByRole("button", { name: "Done" }).click();
  const row = page.getByRole("row", { name: /nightly backup/ });
  await expect(row).toContainText("Change storages");
  await expect(row).toContainText("5/s");
  await row.getByRole("button", { name: "Actions for the key nightly backup" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await accessible(page);
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await expect(row).toBeHidden();
});

test.describe("refusals", () => {
  test.use({ expected: [409] });

  test("a taken name is said in the dialog", async ({ page, as }) => {
    await as("mira");
    await page.goto("/api-keys?open=create");
    const dialog = page.getByRole("dialog", { name: "Create a key" });
    await dialog.getByLabel("Name").fill("render-farm");
    await page.keyboard.press("Enter");
    await expect(dialog.getByRole("alert")).toContainText("This name is taken.");
  });
});

test("nobody's keys yet: what they are, and what they cost", async ({ page, as }) => {
  await as("ines");
  await page.goto("/api-keys");
  await expect(page.getByText("No keys yet")).toBeVisible();
  await accessible(page);
});
