import { expect, test } from "@playwright/test";
import { accessible } from "../fixtures";
import { designer, run, signIn } from "../platform";

test("from the sign-in to the WebUI in four clicks, and all of its life", async ({ page, context }) => {
  test.slow();
  const name = `story-${run}`;
  const tabs = page.getByRole("navigation", { name: `Parts of ${name}` });
  await test.step("sign in, and start with a new storage", async () => {
    await signIn(page, designer);
    await page.getByRole("link", { name: "Start an instance" }).first().click();
    await page.locator("[name=storage][value=new]").check();
    await page.locator("[name=name]").fill(name);
    await page.getByRole("button", { name: /^Start · / }).click();
    await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
  });
  await test.step("it runs without a reload, and its WebUI opens", async () => {
    await expect(page.getByText(/Running for \d/)).toBeVisible({ timeout: 60_000 });
    await accessible(page);
    const opened = context.waitForEvent("page");
    await page.getByRole("link", { name: `Open WebUI of ${name}` }).click();
    const webui = await opened;
    await expect(webui).toHaveTitle(/Stable Diffusion/, { timeout: 30_000 });
    await webui.close();
  });
  await test.step("the log follows", async () => {
    await tabs.getByRole("link", { name: "Log", exact: true }).click();
    await expect(page.getByText("Following. Scroll up to pause.")).toBeVisible();
    await expect(page.getByRole("log")).toContainText(/\w/);
  });
  await test.step("the terminal answers", async () => {
    await tabs.getByRole("link", { name: "Terminal", exact: true }).click();
    await expect(page.getByText("Connected", { exact: true })).toBeVisible();
    await page.keyboard.type("echo $((6 * 7)) is the answer\n");
    await expect(page.getByTestId("terminal").locator(".xterm-rows")).toContainText("42 is the answer");
  });
  await test.step("after a stop its cost stands still", async () => {
    await tabs.getByRole("link", { name: "Overview", exact: true }).click();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await expect(page.getByRole("button", { name: /^Start · / })).toBeVisible({ timeout: 60_000 });
    await tabs.getByRole("link", { name: "Runs", exact: true }).click();
    const bill = page.getByText(/on the bill/);
    const before = await bill.innerText();
    await page.reload();
    await expect(bill).toHaveText(before);
  });
  await test.step("deleted, it is gone from the list", async () => {
    await page.getByRole("button", { name: `Actions for ${name}` }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await expect(page).toHaveURL("/instances");
    await expect(page.getByRole("row", { name })).toBeHidden({ timeout: 30_000 });
  });
  await test.step("its storage stays, until it is deleted, too", async () => {
    await page.goto("/storages");
    await page.getByRole("button", { name: `Actions for ${name}-files` }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    const dialog = page.getByRole("alertdialog");
    await dialog.getByRole("textbox").fill(`${name}-files`);
    await dialog.getByRole("button", { name: "Delete" }).click();
    // behind the dialog no row is seen
    await expect(dialog).toBeHidden();
    await expect(page.getByRole("row", { name: `${name}-files` })).toBeHidden({ timeout: 30_000 });
  });
});
