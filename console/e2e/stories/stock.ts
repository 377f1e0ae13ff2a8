import { expect, type Page, test } from "@playwright/test";
import { administrator, designer, signIn } from "../platform";

/** Sets how many units are available, and waits until they are. */
async function setAvailable(page: Page, [spec, datacenter]: [string, string], count: string) {
  await page.getByRole("button", { name: `Update stock: ${spec} in ${datacenter}`, exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Update stock" });
  const field = dialog.getByLabel("Available", { exact: true });
  const before = await field.inputValue();
  await field.fill(count);
  await page.keyboard.press("Enter");
  await expect(dialog).toBeHidden();
  return before;
}

test("an administrator adds stock, and a designer's page shows it without a reload", async ({
  page,
  browser,
}) => {
  test.slow();
  await signIn(page, administrator);
  await page.goto("/admin/stock");
  // another story starts an instance of the first
  const update = page.getByRole("button", { name: /^Update stock: / }).last();
  const name = (await update.getAttribute("aria-label")) ?? (await update.innerText());
  const [, spec = "", datacenter = ""] = /^Update stock: (.*) in (.*)$/.exec(name) ?? [];
  const theirs = await (await browser.newContext()).newPage();
  await signIn(theirs, designer);
  await theirs.goto("/instances/new");
  const card = theirs.locator("label").filter({ has: theirs.locator(`[name=gpu_spec][value="${spec}"]`) });
  const room = (word: string) =>
    card
      .locator("span")
      .filter({ hasText: new RegExp(`^${datacenter}${word}$`) })
      .last();

  const before = await setAvailable(page, [spec, datacenter], "0");
  await expect(room("none")).toBeVisible({ timeout: 30_000 });
  await setAvailable(page, [spec, datacenter], "1");
  await expect(room("few")).toBeVisible({ timeout: 30_000 });
  await setAvailable(page, [spec, datacenter], before);
  await expect(page.getByRole("region", { name: "Operations" }).getByText(/adding|removing/)).toHaveCount(0, {
    timeout: 30_000,
  });
  await theirs.context().close();
});
