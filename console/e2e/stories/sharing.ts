import { expect, test } from "@playwright/test";
import { designer, run, signIn } from "../platform";

test("an instance is shared with a guest until its link is ended, and renamed", async ({ page, browser }) => {
  test.slow();
  const name = `shared-${run}`;
  const renamed = `${name}-2`;
  const tabs = page.getByRole("navigation", { name: /^Parts of / });
  const guest = await (await browser.newContext()).newPage();
  let link = "";
  await test.step("an instance runs, without a storage", async () => {
    await signIn(page, designer);
    await page.goto("/instances/new");
    await page.locator("[name=storage][value=none]").check();
    await page.locator("[name=name]").fill(name);
    await page.getByRole("button", { name: /^Start · / }).click();
    await expect(page.getByText(/Running for \d/)).toBeVisible({ timeout: 60_000 });
  });
  await test.step("a guest opens its WebUI by a link", async () => {
    await tabs.getByRole("link", { name: "Access", exact: true }).click();
    await page.getByRole("button", { name: "New link" }).click();
    await page.getByLabel("What it is for").fill("Review");
    await page.keyboard.press("Enter");
    const shown = page.getByRole("dialog", { name: "The link “Review”" });
    link = await shown.getByText(/^http.*\/\.atelier\/share\?link=/).innerText();
    await shown.getByRole("button", { name: "Done" }).click();
    await guest.goto(link);
    await expect(guest).toHaveTitle(/Stable Diffusion/, { timeout: 30_000 });
  });
  await test.step("ended, it opens nothing", async () => {
    await page.getByRole("button", { name: "End it: the link Review" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "End it" }).click();
    await expect(page.getByText("Review", { exact: true })).toBeHidden();
    await guest.reload();
    await expect(guest).not.toHaveTitle(/Stable Diffusion/);
    await guest.goto(link);
    await expect(guest).not.toHaveTitle(/Stable Diffusion/);
  });
  await test.step("it is renamed, and stops by itself when nobody uses it", async () => {
    await tabs.getByRole("link", { name: "Settings", exact: true }).click();
    await page.getByRole("button", { name: "Rename…" }).click();
    await page.getByRole("dialog").getByLabel("Name", { exact: true }).fill(renamed);
    await page.keyboard.press("Enter");
    await expect(page.getByRole("heading", { level: 1, name: renamed })).toBeVisible();
    await page.getByRole("combobox", { name: "Stop when idle" }).click();
    await page.getByRole("option", { name: "after 15 min" }).click();
    await page.getByRole("button", { name: "Save" }).first().click();
    await expect(page.getByText("Saved")).toBeVisible();
  });
  await test.step("deleted while it runs, it is gone", async () => {
    await page.getByRole("button", { name: `Actions for ${renamed}` }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await expect(page).toHaveURL("/instances");
    await expect(page.getByRole("row", { name: renamed })).toBeHidden({ timeout: 30_000 });
  });
});
