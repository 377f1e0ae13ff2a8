import type { Page } from "@playwright/test";
import { accessible, expect, fits, test } from "./fixtures";

const actions = (page: Page, name: string) =>
  page.getByRole("button", { name: `Actions for ${name}`, exact: true });

async function one(page: Page, list: string, name: string): Promise<string> {
  const { items } = await (await page.request.get(list)).json();
  return items.find((it: { name: string }) => it.name === name).id;
}

test("a specification is created, priced, retired and offered again", async ({ page, as }) => {
  await as("mara");
  await page.goto("/admin/gpu-specs");
  await expect(page.getByText("8 specifications: 6 for sale, 2 retired.")).toBeVisible();
  await actions(page, "4090-small-4-1").click();
  await page.getByRole("menuitem", { name: "New one like this…" }).click();
  await expect(page.getByText("Like 4090-small-4-1.")).toBeVisible();
  await page.getByRole("button", { name: "Create specification" }).click();
  await expect(page.getByLabel("Name", { exact: true })).toBeFocused();
  await expect(page.getByLabel("Name", { exact: true })).toHaveAccessibleDescription(/^1 to 63 of a-z/);
  await page.getByLabel("Name", { exact: true }).fill("4090-share-2-1");
  await page.getByRole("combobox", { name: "Allocation" }).click();
  await page.getByRole("option", { name: /HAMi shares/ }).click();
  await page.getByLabel("Memory of each GPU", { exact: true }).fill("6");
  await page.getByLabel("Share of its cores").fill("25");
  await accessible(page);
  const sent = page.waitForRequest((it) => it.method() === "POST");
  await page.getByRole("button", { name: "Create specification" }).click();
  expect((await sent).postDataJSON()).toMatchObject({
    name: "4090-share-2-1",
    allocation: { kind: "hami", memory_mib: 6144, cores: 25 },
  });
  await expect(page.getByRole("heading", { level: 1, name: "4090-share-2-1" })).toBeVisible();
  await page.getByRole("link", { name: "Change…" }).click();
  await page.getByRole("textbox", { name: "Price", exact: true }).fill("0.24");
  await expect(page.getByRole("status").filter({ hasText: "What this does" })).toContainText(
    "Price: $0.74/h $0.24/h",
  );
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("region", { name: "Prices" })).toContainText("$0.24/h");
  await expect(page.getByRole("img", { name: "Price over time, from $0.74 to $0.24 an hour" })).toBeVisible();
  await accessible(page);
  await actions(page, "4090-share-2-1").click();
  await page.getByRole("menuitem", { name: "Retire…" }).click();
  await expect(page.getByRole("alertdialog")).toContainText("no new instances, no new stock");
  await accessible(page);
  await page.getByRole("alertdialog").getByRole("button", { name: "Retire" }).click();
  await expect(page.getByText("Retired", { exact: true })).toBeVisible();
  await actions(page, "4090-share-2-1").click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await expect(page).toHaveURL("/admin/gpu-specs");
  await expect(page.getByText("8 specifications")).toBeVisible();
});

test("while there are units, the shape is told and cannot be typed", async ({ page, as }) => {
  await as("mara");
  await page.goto("/admin/gpu-specs");
  await actions(page, "a100-small-4-1").click();
  await expect(page.getByRole("menuitem", { name: /Delete/ })).toContainText("68 units exist.");
  await page.getByRole("menuitem", { name: "Change…" }).click();
  await expect(page.getByText("68 units exist: only price, currency and holds can change.")).toBeVisible();
  await expect(page.getByRole("textbox")).toHaveCount(3);
  await expect(page.getByRole("button", { name: "Save" })).toHaveAttribute("aria-disabled", "true");
  await page.getByRole("checkbox", { name: "Stopped instances may keep their GPU" }).uncheck();
  await expect(page.getByText("Price while stopped: 40% not offered")).toBeVisible();
});

test.describe("refusals", () => {
  test.use({ expected: [409, 412, 422] });

  test("a template that is refused is marked at its line and its field, and nothing is lost", async ({
    page,
    as,
  }) => {
    await as("mara");
    await page.goto("/admin/services");
    await page.getByRole("link", { name: "comfyui 0.4" }).click();
    await page.getByText("JSON", { exact: true }).click();
    await expect(page).toHaveURL(/view=json/);
    const area = page.getByRole("textbox", { name: "Template as JSON" });
    const text = await area.inputValue();
    await area.fill(text.replace('"port": 8188', '"port": 0'));
    await expect(page.getByRole("button", { name: "Line 5" })).toBeVisible();
    await expect(page.getByText("/template/ports/0/port")).toBeVisible();
    await area.fill(`${text.slice(0, -2)},\n  "runtime_class_name": "quantum"\n}`);
    await expect(page.getByRole("status").filter({ hasText: "What this does" })).toContainText(
      "template/runtime_class_name: – quantum",
    );
    await page.getByRole("button", { name: "Save" }).click();
    // only the service knows the runtime classes
    await expect(page.getByText("must be the name of a runtime class")).toBeVisible();
    const line = page.getByRole("button", { name: /^Line \d+$/ });
    await accessible(page);
    await line.click();
    await expect(area).toBeFocused();
    expect(
      await area.evaluate((it: HTMLTextAreaElement) => it.value.slice(it.selectionStart, it.selectionEnd)),
    ).toContain("quantum");
    await page.getByText("Fields", { exact: true }).click();
    const field = page.getByLabel("Runtime class");
    await expect(field).toHaveValue("quantum");
    await expect(field).toHaveAccessibleDescription("must be the name of a runtime class");
    await accessible(page);
    await field.fill("nvidia");
    await expect(field).toHaveAccessibleDescription("Empty: the cluster's default.");
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByText("comfyui 0.4 is changed")).toBeVisible();
    await expect(page.getByRole("button", { name: "Save" })).toHaveAttribute("aria-disabled", "true");
  });

  test("two administrators change a specification: each keeps what is theirs", async ({ page, as }) => {
    await as("mara");
    await page.goto("/admin/gpu-specs");
    await actions(page, "h100-small-16-1").click();
    await page.getByRole("menuitem", { name: "Change…" }).click();
    await page.getByRole("textbox", { name: "Price", exact: true }).fill("3.10");
    const id = await one(page, "/v1/gpu-specs", "h100-small-16-1");
    await page.request.patch(`/v1/gpu-specs/${id}`, {
      data: { hold_price_fraction: "0.5" },
      headers: { "if-match": "*" },
    });
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("alert")).toContainText("Price while stopped: not offered 50%");
    await expect(page.getByRole("textbox", { name: "Price", exact: true })).toHaveValue("3.10");
    await accessible(page);
    await page.getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("heading", { level: 1, name: "h100-small-16-1" })).toBeVisible();
    const saved = await (await page.request.get(`/v1/gpu-specs/${id}`)).json();
    expect(saved).toMatchObject({ price_per_hour: "3.10", hold_price_fraction: "0.5" });
  });

  test("storage specifications: a name that is taken, a use that forbids the delete", async ({
    page,
    as,
  }) => {
    await as("mara");
    await page.goto("/admin/storage-specs");
    await page.getByRole("button", { name: "New storage specification" }).click();
    const dialog = page.getByRole("dialog", { name: "New storage specification" });
    await dialog.getByLabel("Name", { exact: true }).fill("ssd");
    await dialog.getByLabel("Price of a GiB for a month").fill("0.05");
    await dialog.getByRole("button", { name: "Create specification" }).click();
    await expect(dialog.getByRole("alert")).toContainText("This name is taken.");
    await accessible(page);
    await dialog.getByLabel("Name", { exact: true }).fill("ssd-fast");
    await dialog.getByRole("button", { name: "Create specification" }).click();
    await expect(page.getByText("3 kinds of volumes and 1 of buckets for sale")).toBeVisible();
    await actions(page, "ssd").click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    const ask = page.getByRole("alertdialog");
    await ask.getByRole("button", { name: "Delete" }).click();
    await expect(ask.getByRole("alert")).toContainText("can be deleted when no storage uses it");
    await ask.getByRole("button", { name: "Cancel" }).click();
    await actions(page, "ssd-fast").click();
    await page.getByRole("menuitem", { name: "Change…" }).click();
    await page.getByRole("dialog").getByLabel("Largest size").fill("4096");
    await expect(page.getByRole("dialog")).toContainText("Size: 1 to 2,048 GiB 1 to 4,096 GiB");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await expect(page.getByRole("row").filter({ hasText: "ssd-fast" })).toContainText("1 to 4,096 GiB");
  });
});

test("a new version begins as another, and is recommended in its place", async ({ page, as }) => {
  await as("mara");
  await page.goto("/admin/services?name=lora");
  await actions(page, "lora-trainer 2.1").click();
  await page.getByRole("menuitem", { name: "New version like this…" }).click();
  await page.getByLabel("Version", { exact: true }).fill("2.2");
  await page.getByLabel("Image", { exact: true }).fill("registry.atelier.host/lora-trainer:2.2");
  await page.getByRole("checkbox", { name: /^Recommended/ }).check();
  await page.getByRole("button", { name: "Add version" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "lora-trainer 2.2" })).toBeVisible();
  await page.goto("/admin/services?name=lora");
  await expect(page.getByRole("row").filter({ hasText: ":2.1" })).toContainText("Offered");
  await expect(page.getByRole("row").filter({ hasText: ":2.2" })).toContainText("Recommended");
  await actions(page, "lora-trainer 2.1").click();
  await accessible(page);
  await page.getByRole("menuitem", { name: /Disable/ }).click();
  await expect(page.getByRole("row").filter({ hasText: ":2.1" })).toContainText("Disabled");
});

test("what a drain does is said before it, and a designer gets no room there", async ({ page, as }) => {
  await as("mara");
  await page.goto("/admin/datacenters");
  await expect(page.getByText("does not answer")).toBeVisible();
  await page.getByRole("link", { name: "de-2", exact: true }).click();
  await page.getByRole("button", { name: "Drain…" }).click();
  const ask = page.getByRole("alertdialog", { name: "Drain de-2?" });
  await expect(ask).toContainText("102 instances continue until they are stopped. They are not moved.");
  await expect(ask).toContainText("49 free units can be removed");
  await accessible(page);
  await ask.getByRole("button", { name: "Drain" }).click();
  await expect(page.getByText("It accepts nothing new. 102 units are still in use")).toBeVisible();
  await page.goto("/admin/stock?edit=l40s-small-8-1@de-2");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "One more" }).click();
  await expect(dialog.getByLabel("Available", { exact: true })).toHaveAccessibleDescription(
    /A draining datacenter takes no new stock/,
  );
  await page.goto("/admin/datacenters");
  await page.getByRole("link", { name: "de-2", exact: true }).click();
  await page.getByRole("button", { name: "Use again" }).click();
  await expect(page.getByText("In use", { exact: true })).toBeVisible();
  await page.setViewportSize({ width: 390, height: 780 });
  await fits(page);
});
