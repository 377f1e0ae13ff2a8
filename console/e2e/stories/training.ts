import { expect, type Locator, test } from "@playwright/test";
import { drawn } from "../drawn";
import { accessible } from "../fixtures";
import { designer, run, signIn } from "../platform";

/** A worker takes the job, and works on it. */
const worked = { timeout: 60_000 };

/** The picture has come from the object store. */
const shown = (place: Locator) =>
  expect
    .poll(() => place.locator("img").evaluate((it) => it instanceof HTMLImageElement && it.naturalWidth))
    .toBeGreaterThan(0);

test("a training becomes a picture", async ({ page }) => {
  test.slow();
  const name = `lanterns-${run}`;
  await test.step("four pictures are sent, and a model is trained from them", async () => {
    await signIn(page, designer);
    await page.goto("/training/new");
    await page.locator("input[type=file]").setInputFiles(await drawn(page, 4));
    await expect(page.getByText(/^Arrived/)).toHaveCount(4);
    await page.getByLabel("What the pictures show").fill("paper lantern");
    await page.getByLabel("Name of the model").fill(name);
    await page.getByRole("button", { name: /^Train · / }).click();
    await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
    await expect(page.getByRole("link", { name: "Make pictures with it" })).toBeVisible(worked);
    await accessible(page);
  });
  await test.step("a picture is made with it", async () => {
    await page.getByRole("link", { name: "Make pictures with it" }).click();
    await expect(page.getByRole("combobox", { name: "Adapter" })).toContainText(name);
    await page.getByLabel("Prompt").fill("a photo of sks paper lantern");
    await page.getByRole("button", { name: /^Make / }).click();
    const picture = page.getByRole("link", { name: "Open Picture 1 large" });
    await expect(picture).toBeVisible(worked);
    await shown(picture);
    await accessible(page);
  });
  await test.step("it is in the gallery, and its model is deleted", async () => {
    await page.goto("/gallery");
    await shown(
      page
        .getByRole("main")
        .getByRole("link")
        .filter({ has: page.locator("img") })
        .first(),
    );
    await page.goto("/models");
    await page.getByRole("link", { name, exact: true }).click();
    // the list has a menu of this name, too
    await expect(page).toHaveURL(/\/models\/.+/);
    await page.getByRole("button", { name: `Actions for ${name}` }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    const dialog = page.getByRole("alertdialog");
    await dialog.getByRole("textbox").fill(name);
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(page.getByText(`${name} is deleted`)).toBeVisible();
  });
});
