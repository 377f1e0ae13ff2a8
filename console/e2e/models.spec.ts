import type { Page } from "@playwright/test";
import { accessible, expect, fits, test } from "./fixtures";

const openModel = async (page: Page, name: string) => {
  await page.goto("/models");
  await page.getByRole("table", { name: "Of the studio" }).getByRole("link", { name, exact: true }).click();
  await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
};

test("models are found by name and base model, and the filter has an address", async ({ page, as }) => {
  await as("mira");
  await page.goto("/models");
  await expect(page.getByText("6 models of the studio, 120 MB in all.")).toBeVisible();
  await page.getByRole("searchbox", { name: "Find by name or base model" }).fill("sd-1.5");
  await expect(page).toHaveURL("/models?name=sd-1.5");
  const own = page.getByRole("table", { name: "Of the studio" });
  await expect(own.getByRole("row")).toHaveCount(3);
  await page.getByRole("searchbox").fill("zebra");
  await expect(page.getByText("No model is called that")).toBeVisible();
  await page.getByRole("link", { name: "Show all" }).click();
  await expect(own.getByRole("row")).toHaveCount(7);
  await page.getByRole("link", { name: "Train on it: sdxl-1.0" }).click();
  await expect(page.getByRole("combobox", { name: "Base model" })).toContainText("sdxl-1.0");
});

test("a model is deployed to a volume; its record goes, its file stays", async ({ page, as }) => {
  await as("mira");
  await openModel(page, "glazed-pots");
  await expect(page.getByText("It is on no volume")).toBeVisible();
  await page.getByRole("button", { name: "Deploy to a volume" }).click();
  const dialog = page.getByRole("dialog", { name: "Deploy glazed-pots to a volume" });
  await accessible(page);
  await dialog.getByRole("combobox", { name: "Volume" }).click();
  await page.getByRole("option", { name: /shared-models/ }).click();
  await dialog.getByRole("button", { name: "Deploy" }).click();
  const row = page.getByRole("row").filter({ hasText: "shared-models" });
  await expect(row.getByText("In progress")).toBeVisible();
  await expect(row.getByText("Deployed")).toBeVisible();
  await expect(page.getByText(/<lora:glazed-pots-\w{8}:0\.8>/)).toBeVisible();
  await row.getByRole("button", { name: /^Actions for models\/Lora/ }).click();
  await page.getByRole("menuitem", { name: /Remove from this list/ }).click();
  await expect(page.getByText("The file is still on shared-models")).toBeVisible();
  await expect(page.getByText("It is on no volume")).toBeVisible();
});

test("a volume that is full is said with what to do, and tried again", async ({ page, as }) => {
  await as("mira");
  await openModel(page, "heroine-v2");
  const row = page.getByRole("row").filter({ hasText: "texture-refs" }).first();
  await expect(row.getByText("No space is left on the volume")).toBeVisible();
  await row.getByRole("button").click();
  await page.getByRole("menuitem", { name: "Try again" }).click();
  await expect(page.getByText("heroine-v2 is being deployed to texture-refs")).toBeVisible();
  await expect(page.getByRole("row").filter({ hasText: "In progress" })).toHaveCount(1);
});

test.describe("refusals", () => {
  test.use({ expected: [409, 422, 503] });

  test("refusals stand in the dialog, at their fields, and nothing is lost", async ({
    page,
    as,
    provoke,
  }) => {
    await as("mira");
    await openModel(page, "gouache-v4");
    await page.getByRole("button", { name: "Deploy to a volume" }).click();
    const dialog = page.getByRole("dialog", { name: "Deploy gouache-v4 to a volume" });
    const path = dialog.getByLabel("Path on the volume");
    await path.fill("../gouache.ckpt");
    await page.keyboard.press("Enter");
    await expect(path).toHaveAccessibleDescription(/ends in \.safetensors/);
    await expect(path).toBeFocused();
    await path.fill("adapters/gouache.safetensors");
    await provoke({ operation: "createDeployment", slug: "deployment-in-progress" });
    await page.keyboard.press("Enter");
    await expect(dialog.getByRole("alert")).toContainText("A file is already being deployed to this path.");
    await expect(path).toHaveValue("adapters/gouache.safetensors");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Actions for gouache-v4" }).click();
    await page.getByRole("menuitem", { name: "Rename…" }).click();
    const rename = page.getByRole("dialog", { name: "Rename gouache-v4" });
    await rename.getByLabel("Name").fill(" ");
    await page.keyboard.press("Enter");
    await expect(rename.getByLabel("Name")).toHaveAccessibleDescription("1 to 100 characters.");
    await rename.getByLabel("Name").fill("gouache-final");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("heading", { level: 1, name: "gouache-final" })).toBeVisible();
  });
});

test("a deletion says what is lost and where copies stay", async ({ page, as }) => {
  await as("mira");
  await page.goto("/models");
  await page.getByRole("button", { name: "Actions for gouache-v4" }).click();
  await accessible(page);
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  const dialog = page.getByRole("alertdialog", { name: "Delete gouache-v4?" });
  await expect(dialog.getByText("Copies stay on shared-models and act-2-files.")).toBeVisible();
  await accessible(page);
  const press = dialog.getByRole("button", { name: "Delete" });
  await expect(press).toHaveAttribute("aria-disabled", "true");
  await dialog.getByLabel("Type gouache-v4 to confirm").fill("gouache-v4");
  await press.click();
  await expect(page.getByText("gouache-v4 is deleted")).toBeVisible();
  await expect(page.getByText("5 models of the studio")).toBeVisible();
});

test("a viewer sees reasons, and may download", async ({ page, as }) => {
  await as("jonas");
  await openModel(page, "gouache-v4");
  const make = page.getByRole("button", { name: "Make pictures with it" });
  await expect(make).toHaveAccessibleDescription(/^Viewers cannot change anything here/);
  await expect(page.getByRole("button", { name: "Deploy to a volume" })).toHaveAttribute(
    "aria-disabled",
    "true",
  );
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download" }).click();
  expect((await download).suggestedFilename()).toBe("gouache-v4.safetensors");
});

test("on a phone the model's page fits, by keyboard too", async ({ page, as }) => {
  await page.setViewportSize({ width: 390, height: 780 });
  await as("mira");
  await openModel(page, "heroine-v2");
  await fits(page);
  await accessible(page);
  const menu = page.getByRole("button", { name: "Actions for heroine-v2" });
  await menu.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: "Rename…" }).press("Enter");
  await expect(page.getByRole("dialog", { name: "Rename heroine-v2" })).toBeVisible();
  await fits(page);
  await page.keyboard.press("Escape");
  await expect(menu).toBeFocused();
});
