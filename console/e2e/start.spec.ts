import type { Page } from "@playwright/test";
import { accessible, expect, fits, test } from "./fixtures";

const gpu = (page: Page, name: string) => page.locator(`[name=gpu_spec][value="${name}"]`);
const summary = (page: Page) => page.getByRole("region", { name: "Summary" });
const change = (page: Page, data: object) => page.request.post("/mock/change", { data });

test("starts with a new storage, the price before the press, and goes to its page", async ({ page, as }) => {
  await as("mira");
  await page.goto("/instances");
  await page.getByRole("link", { name: "Start an instance" }).click();
  await expect(page.getByText("Your quota has room for 2 more.")).toBeVisible();
  await gpu(page, "4090-small-4-1").check();
  await page.getByLabel("Name", { exact: true }).last().fill("backgrounds-act-3");
  await expect(summary(page)).toContainText("backgrounds-act-3-files, new");
  await expect(summary(page)).toContainText("Starts now in uk-1");
  await expect(summary(page)).toContainText("$17.76");
  await expect(summary(page)).toContainText("After a stop: $1.20/month for storage");
  await accessible(page);
  const ordered = page.waitForRequest((it) => it.method() === "POST" && it.url().endsWith("/v1/instances"));
  await summary(page).getByRole("button", { name: "Start · $0.74/h" }).click();
  expect((await ordered).postDataJSON()).toEqual({
    name: "backgrounds-act-3",
    gpu_spec: "4090-small-4-1",
    service: "stable-diffusion-webui",
    version: "1.10",
    datacenter: "uk-1",
    new_storage: { name: "backgrounds-act-3-files", storage_spec: "ssd", size_gib: 40 },
    idle_stop: { after_seconds: 1800 },
    on_node_loss: "restart",
  });
  await expect(page).toHaveURL(/\/instances\/inst_/);
  await expect(page.getByRole("heading", { level: 1, name: "backgrounds-act-3" })).toBeVisible();
  await expect(page.getByText("Running", { exact: true }).first()).toBeVisible({ timeout: 10_000 });
});

test("by keyboard alone", async ({ page, as }) => {
  await as("mira");
  await page.goto("/instances");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("n");
  await expect(page.getByRole("main")).toBeFocused();
  await gpu(page, "3080-small-8-1").focus();
  await page.keyboard.press("ArrowRight");
  await expect(gpu(page, "4090-small-4-1")).toBeChecked();
  await page.locator("[name=storage]:checked").focus();
  await page.keyboard.press("ArrowUp");
  await expect(summary(page)).toContainText("None");
  await page.locator("[name=name]").press("Enter");
  await expect(page).toHaveURL(/\/instances\/inst_/);
});

test("what is full offers what has room, or a place in the queue", async ({ page, as }) => {
  await as("mira");
  await page.goto("/instances/new?gpu=a100-small-4-1");
  await expect(summary(page)).toContainText("No room now, 3 wait. A place in about 14 min");
  await expect(summary(page).getByRole("button", { name: "Wait for a place · $1.89/h" })).toBeVisible();
  await page.getByRole("button", { name: "L40S · 48 GB" }).click();
  await expect(gpu(page, "l40s-small-8-1")).toBeChecked();
  await expect(summary(page)).toContainText("Starts now in de-2");
  await gpu(page, "a100-small-4-1").check();
  await summary(page).getByRole("button", { name: "Wait for a place" }).click();
  await expect(page.getByText("Waiting", { exact: true }).first()).toBeVisible();
});

test("what is not possible says why, and cannot be chosen", async ({ page, as }) => {
  await as("mira");
  await page.goto("/instances/new");
  const dear = gpu(page, "h100-small-16-1");
  await expect(dear).toHaveAccessibleDescription(
    "Your quota does not include this GPU. Ask an administrator for it.",
  );
  await dear.click({ force: true });
  await expect(dear).not.toBeChecked();
  // a storage binds to its datacenter
  await page.locator("[name=storage][value=existing]").check();
  await page.getByRole("combobox", { name: "Which one" }).click();
  await page.getByRole("option", { name: /training-sets/ }).click();
  await accessible(page);
  await expect(page.getByRole("combobox", { name: "Datacenter" })).toContainText("de-2, Frankfurt");
  await expect(summary(page)).toContainText("Starts now in de-2");
});

test("as last time", async ({ page, as }) => {
  await as("mira");
  await page.goto("/instances/new?like=none");
  await page.getByRole("button", { name: "As last time: cover-art" }).click();
  await expect(gpu(page, "a100-small-4-1")).toBeChecked();
  await expect(page.locator("[name=name]")).toHaveValue("cover-art-1");
});

test("a viewer reads prices and why not", async ({ page, as }) => {
  await as("jonas");
  await page.goto("/instances/new");
  const press = summary(page).getByRole("button", { name: /^Start · / });
  await expect(press).toHaveAccessibleDescription(/Viewers cannot change anything here/);
  await press.click({ force: true });
  await expect(page).toHaveURL("/instances/new");
});

test.describe("refused", () => {
  test.use({ expected: [409, 422, 503] });

  test("errors stand at their fields, ours and the API's", async ({ page, as }) => {
    await as("mira");
    await page.goto("/instances/new");
    await page.locator("[name='new_storage.size_gib']").fill("0");
    await page.locator("[name=name]").press("Enter");
    await expect(page.locator("[name='new_storage.size_gib']")).toBeFocused();
    await expect(page.getByText("A whole number of GiB, from 1 to 2,048.")).toBeVisible();
    await page.locator("[name='new_storage.size_gib']").fill("40");
    await page.locator("[name='new_storage.name']").fill("act-2-files");
    await page.getByRole("button", { name: /^Environment/ }).click();
    await page.locator("[name='env.0.name']").fill("HF_TOKEN");
    await page.locator("[name='env.0.value']").fill("hf_abcdefghij");
    await page.locator("[name=name]").press("Enter");
    await expect(page.locator("[name='env.0.value']")).toBeFocused();
    await expect(page.getByText("This looks like a secret. Enter it as a secret.")).toBeVisible();
    await accessible(page);
    await page.getByRole("button", { name: "Remove HF_TOKEN" }).click();
    await page.locator("[name=name]").press("Enter");
    await expect(page.getByText("Another storage has this name.")).toBeVisible();
    await expect(page.locator("[name='new_storage.name']")).toBeFocused();
    await page.locator("[name='new_storage.name']").fill("act-3-files");
    await expect(page.getByText("Another storage has this name.")).toBeHidden();
  });

  test("a press whose outcome is unknown is repeated with the same key, and nothing is made twice", async ({
    page,
    as,
    provoke,
  }) => {
    await as("mira");
    await page.goto("/instances/new");
    const keys: (string | undefined)[] = [];
    page.on("request", (it) => {
      if (it.method() === "POST" && it.url().endsWith("/v1/instances"))
        keys.push(it.headers()["idempotency-key"]);
    });
    await provoke({ operation: "createInstance", slug: "unavailable", retryAfter: 60 });
    const press = summary(page).getByRole("button", { name: /^Start · / });
    await press.click();
    await expect(summary(page).getByRole("alert")).toContainText("A part of the platform does not answer.");
    await press.click();
    await expect(page).toHaveURL(/\/instances\/inst_/);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
    const list = await (await page.request.get("/v1/storages")).json();
    expect(list.items.filter((it: { name: string }) => it.name === "webui-1-files")).toHaveLength(1);
  });

  test("limits that were reached meanwhile are said with their numbers", async ({ page, as }) => {
    await as("mira");
    await page.goto("/instances/new");
    await expect(summary(page)).toContainText("Starts now");
    await change(page, { limits: { instances: 12 } });
    await summary(page)
      .getByRole("button", { name: /^Start · / })
      .click();
    await expect(summary(page).getByRole("alert")).toContainText(
      "Your quota of instances is used up: 12 of 12.",
    );
    await expect(summary(page).getByRole("alert")).toContainText("Request");
  });

  test("a spent budget is said", async ({ page, as, provoke }) => {
    await as("mira");
    await page.goto("/instances/new");
    await provoke({ operation: "createInstance", slug: "budget-exhausted" });
    await summary(page)
      .getByRole("button", { name: /^Start · / })
      .click();
    await expect(summary(page).getByRole("alert")).toContainText(
      "The budget of the studio does not allow it.",
    );
  });
});

for (const look of [{ theme: "light" }, { theme: "dark", language: "zh-CN" }] as const)
  test(`at 390 px the button is always in reach: ${look.theme}`, async ({ page, as, looks }) => {
    await page.setViewportSize({ width: 390, height: 780 });
    await looks(look);
    await as("mira");
    await page.goto("/instances/new");
    const press = page.locator("button[type=submit]:visible");
    await expect(press).toHaveCount(1);
    await expect(press).toBeInViewport();
    await accessible(page);
    await fits(page);
    await page.locator("[name=name]").scrollIntoViewIfNeeded();
    await expect(press).toBeInViewport();
    await press.click();
    await expect(page).toHaveURL(/\/instances\/inst_/);
  });
