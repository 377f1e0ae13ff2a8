import type { Page } from "@playwright/test";
import { accessible, expect, fits, test } from "./fixtures";

const row = (page: Page, name: string) => page.getByRole("row").filter({ hasText: name });
const summary = (page: Page) => page.getByRole("region", { name: "Summary" });
const change = (page: Page, data: object) => page.request.post("/mock/change", { data });

async function act(page: Page, name: string, entry: string) {
  await page.getByRole("button", { name: `Actions for ${name}` }).click();
  await page.getByRole("menuitem", { name: entry }).click();
}

async function open(page: Page, name: string) {
  await page.goto("/storages");
  await page.getByRole("link", { name, exact: true }).click();
  await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
}

test("a storage is created at a price that is known before, and is ready without a reload", async ({
  page,
  as,
}) => {
  await as("mira");
  await page.goto("/instances");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await expect(page.getByText("9 storages, 1,450 GiB, $39.30 a month.")).toBeVisible();
  await page.getByRole("link", { name: "Create a storage" }).click();
  await expect(page.getByText("550 GiB and 11 storages are left of your quota.")).toBeVisible();
  await page.getByRole("radio", { name: /nvme/ }).check();
  await page.getByLabel("Name", { exact: true }).fill("act-3-files");
  await page.getByLabel("Size", { exact: true }).fill("100");
  await expect(summary(page)).toContainText("1,450 + 100 of 2,000 GiB");
  await expect(summary(page)).toContainText("$8.00");
  await page.getByRole("combobox", { name: "Datacenter" }).click();
  await accessible(page);
  await page.getByRole("option", { name: /de-2, Frankfurt 4 of 5 kinds of GPU/ }).click();
  const ordered = page.waitForRequest((it) => it.method() === "POST" && it.url().endsWith("/v1/storages"));
  await page.getByRole("button", { name: "Create · $8.00/month" }).click();
  expect((await ordered).postDataJSON()).toEqual({
    name: "act-3-files",
    storage_spec: "nvme",
    size_gib: 100,
    datacenter: "de-2",
  });
  await expect(page).toHaveURL(/\/storages\/stor_/);
  const mark = page.getByRole("status").filter({ hasText: /Being created|Ready/ });
  await expect(mark).toHaveText("Being created");
  await expect(page.getByRole("progressbar")).toBeVisible();
  await expect(mark).toHaveText("Ready", { timeout: 15_000 });
  await page.getByRole("link", { name: "Storages" }).first().click();
  await expect(row(page, "act-3-files")).toContainText("$8.00/month");
  await expect(page.getByText("10 storages, 1,550 GiB, $47.30 a month.")).toBeVisible();
});

test.describe("refused", () => {
  test.use({ expected: [409] });

  test("what the quota or another storage does not allow stands at its field, and nothing is lost", async ({
    page,
    as,
  }) => {
    await as("mira");
    await page.goto("/storages/new");
    const [name, size] = [page.getByLabel("Name", { exact: true }), page.getByLabel("Size", { exact: true })];
    await size.fill("551");
    await size.press("Enter");
    await expect(name).toBeFocused();
    await expect(name).toHaveAccessibleDescription("Name the storage.");
    await expect(size).toHaveAccessibleDescription(/^Your quota has room for 550 GiB more\./);
    await accessible(page);
    await size.fill("200");
    await name.fill("act-2-files");
    await name.press("Enter");
    await expect(name).toHaveAccessibleDescription("This name is taken. Choose another.");
    await expect(name).toBeFocused();
    // somebody else has used the quota meanwhile
    await change(page, { storageLimits: { storages: 20, gib: 1500 } });
    await name.fill("act-3-files");
    await name.press("Enter");
    await expect(size).toHaveAccessibleDescription(/^Your quota has room for 50 GiB more\./);
    await expect(size).toBeFocused();
    await expect(name).toHaveValue("act-3-files");
    await expect(size).toHaveValue("200");
    await size.fill("50");
    await size.press("Enter");
    await expect(page).toHaveURL(/\/storages\/stor_/);
  });

  test("a storage that is mounted meanwhile is not deleted, and the dialog says by whom", async ({
    page,
    as,
    provoke,
  }) => {
    await as("mira");
    await page.goto("/storages");
    await act(page, "job-outputs", "Delete…");
    const dialog = page.getByRole("alertdialog", { name: "Delete job-outputs?" });
    await provoke({ operation: "deleteStorage", slug: "storage-in-use" });
    await dialog.getByLabel("Type job-outputs to confirm").fill("job-outputs");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(dialog.getByRole("alert")).toContainText("uses this storage");
    await page.keyboard.press("Escape");
    await expect(row(page, "job-outputs")).toContainText("Ready");
  });
});

test("growing shows the new price and the difference before the press", async ({ page, as }) => {
  await as("mira");
  await open(page, "act-2-files");
  await page.getByRole("button", { name: "Grow…" }).click();
  await expect(page).toHaveURL(/open=grow/);
  const dialog = page.getByRole("dialog", { name: "Grow act-2-files" });
  await expect(dialog.getByRole("button", { name: "Grow · $1.80/month" })).toBeVisible();
  await dialog.getByLabel("New size").fill("30");
  await page.keyboard.press("Enter");
  await expect(dialog.getByLabel("New size")).toHaveAccessibleDescription(
    "More than it has: a whole number of GiB, from 41 to 2,048.",
  );
  await dialog.getByLabel("New size").fill("100");
  await expect(dialog).toContainText("$3.00/month");
  await expect(dialog).toContainText("$1.80 more a month");
  await accessible(page);
  await page.keyboard.press("Enter");
  await expect(dialog).toBeHidden();
  await expect(page.getByRole("heading", { level: 1 }).locator("..")).toContainText("Growing");
  await expect(page.getByText("40 of 100 GiB can be used, until it has grown.")).toBeVisible();
  await expect(page.getByRole("heading", { level: 1 }).locator("..")).toContainText("Ready", {
    timeout: 15_000,
  });
  await page.getByRole("link", { name: "Operations", exact: true }).click();
  await expect(page.getByRole("row").nth(1)).toContainText("Grow");
  await expect(page.getByRole("row").nth(1)).toContainText("Done");
});

test.describe("deleted", () => {
  // it is asked for until it is gone
  test.use({ expected: [404] });

  test("what is mounted is not deleted: it says by whom, and is taken off there; then its name is asked for", async ({
    page,
    as,
  }) => {
    await as("mira");
    await page.goto("/storages");
    await act(page, "act-2-files", "Delete…");
    const used = page.getByRole("dialog", { name: "act-2-files is in use" });
    await expect(used.getByRole("link", { name: "backgrounds-act-2" })).toHaveAttribute(
      "href",
      /\/instances\/inst_/,
    );
    const takeOff = used.getByRole("button", { name: "Take it off backgrounds-act-2" });
    await expect(takeOff).toHaveAccessibleDescription(/Stop backgrounds-act-2 first/);
    await accessible(page);
    await page.keyboard.press("Escape");
    await act(page, "shared-models", "Delete…");
    await page.getByRole("button", { name: "Take it off poster-march" }).click();
    const asks = page.getByRole("alertdialog", { name: "Delete shared-models?" });
    await expect(asks).toContainText("$6.00 a month less");
    const press = asks.getByRole("button", { name: "Delete" });
    await expect(press).toHaveAccessibleDescription("Type the name first.");
    await accessible(page);
    await asks.getByLabel("Type shared-models to confirm").fill("shared-models");
    await press.click();
    await expect(row(page, "shared-models")).toContainText("Being deleted");
    await expect(row(page, "shared-models")).toHaveCount(0, { timeout: 15_000 });
    await expect(page.getByText("8 storages, 1,250 GiB, $33.30 a month.")).toBeVisible();
  });
});

test("an S3 key is shown once, with a configuration to copy; an owner takes one over", async ({
  page,
  as,
}) => {
  await as("mira");
  await open(page, "finished-pictures");
  await page.getByRole("link", { name: "S3 keys" }).click();
  await expect(page.getByRole("row")).toHaveCount(4);
  await page.getByRole("button", { name: "Create a key" }).click();
  const asks = page.getByRole("dialog", { name: "Create an S3 key?" });
  await expect(asks).toContainText("every bucket of the studio");
  await asks.getByRole("button", { name: "Create a key" }).click();
  const shown = page.getByRole("dialog", { name: "Your new S3 key" });
  await expect(shown).toContainText("Copy it now: it is not shown again.");
  const secret = (await shown.locator("code").nth(1).textContent()) ?? "";
  expect(secret).toMatch(/^\w{40}$/);
  await shown.getByText("AWS CLI").click();
  await expect(shown.getByText("[profile atelier]")).toContainText(`aws_secret_access_key = ${secret}`);
  await accessible(page);
  await page.setViewportSize({ width: 390, height: 780 });
  await accessible(page);
  await fits(page);
  await page.setViewportSize({ width: 1360, height: 860 });
  await shown.getByRole("button", { name: "Done" }).click();
  await expect(page.getByRole("row")).toHaveCount(5);
  await expect(page.getByText(secret)).toHaveCount(0);
  const theirs = page.getByRole("row").filter({ hasText: "Tomas Reyl" });
  await theirs.getByRole("button", { name: /Actions for the key/ }).click();
  await page.getByRole("menuitem", { name: "Take over…" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Take over" }).click();
  await expect(theirs).toHaveCount(0);
  await page
    .getByRole("row")
    .last()
    .getByRole("button", { name: /Actions for the key/ })
    .click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByRole("row")).toHaveCount(4);
});

test("a viewer reads everything, and why not", async ({ page, as }) => {
  await as("jonas");
  await page.goto("/storages");
  const reason = /Viewers cannot change anything here/;
  await expect(page.getByRole("button", { name: "Create a storage" })).toHaveAccessibleDescription(reason);
  await page.getByRole("button", { name: "Actions for texture-refs" }).click();
  for (const entry of ["Grow…", "Rename…", "Delete…"])
    await expect(page.getByRole("menuitem", { name: new RegExp(`^${entry}`) })).toContainText(
      "Viewers cannot",
    );
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "finished-pictures", exact: true }).click();
  await page.getByRole("link", { name: "S3 keys" }).click();
  await expect(page.getByRole("button", { name: "Create a key" })).toHaveAccessibleDescription(reason);
  await page.goto(`${page.url().replace(/\/keys.*/, "")}?open=delete`);
  await expect(page.getByRole("heading", { level: 1, name: "finished-pictures" })).toBeVisible();
  await expect(page.getByRole("alertdialog")).toHaveCount(0);
  await page.goto("/storages/new");
  await expect(summary(page).getByRole("button", { name: /^Create · / })).toHaveAccessibleDescription(reason);
});

test("filters have addresses, the palette finds storages, and an instance leads to its own", async ({
  page,
  as,
}) => {
  await as("mira");
  await page.goto("/storages?kind=volume");
  await expect(page.getByText("7 storages", { exact: true })).toBeVisible();
  await page.getByRole("navigation", { name: "State" }).getByRole("link", { name: "Failed" }).click();
  await expect(page).toHaveURL("/storages?kind=volume&state=failed");
  await expect(page.getByRole("row")).toHaveCount(2);
  await page.keyboard.press("ControlOrMeta+k");
  await expect(page.getByRole("combobox", { name: "Search and commands" })).toBeFocused();
  await page.keyboard.type("training-sets");
  await expect(page.getByRole("group", { name: "Instances and storages" })).toBeVisible();
  await page.getByRole("option", { name: "Storage training-sets" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "training-sets" })).toBeVisible();
  await page.getByRole("link", { name: "Start an instance with it" }).click();
  await expect(page.getByRole("combobox", { name: "Which one" })).toContainText("training-sets");
  await expect(page.getByRole("combobox", { name: "Datacenter" })).toContainText("de-2, Frankfurt");
  await page.goto("/instances");
  await page.getByRole("link", { name: "lora-heroine", exact: true }).click();
  await page.getByRole("link", { name: "training-sets", exact: true }).click();
  await expect(page).toHaveURL(/\/storages\/stor_/);
});

test("a part of the name and the order of size find the largest", async ({ page, as }) => {
  await as("mira");
  await page.goto("/storages");
  const names = page.getByRole("row").getByRole("link");
  await page.getByRole("combobox", { name: "Order" }).click();
  await page.getByRole("option", { name: "Largest first" }).click();
  await expect(page).toHaveURL("/storages?sort=-size_gib");
  const sizes = async () => {
    const rows = await page.getByRole("row").filter({ hasText: "GiB" }).allTextContents();
    return rows.map((row) => Number(/([\d,]+) GiB/.exec(row)?.[1]?.replace(",", "")));
  };
  await expect(async () => {
    const found = await sizes();
    expect(found).toHaveLength(9);
    expect(found).toEqual(found.toSorted((a, b) => b - a));
  }).toPass();
  await page.getByRole("searchbox", { name: "Name contains" }).fill("ACT");
  await expect(page).toHaveURL("/storages?name=ACT&sort=-size_gib");
  await expect(names.filter({ hasText: "act-2-files" })).toBeVisible();
  await expect(names.filter({ hasText: "render-cache" })).toBeHidden();
  await accessible(page);
  await page.goto("/storages?state=pending,failed&sort=name");
  const states = page.getByRole("navigation", { name: "State" });
  await expect(states.getByRole("link", { name: "Being created + Failed" })).toHaveAttribute(
    "aria-current",
    "page",
  );
  await expect(page.getByText("2 storages", { exact: true })).toBeVisible();
  await page.getByRole("searchbox", { name: "Name contains" }).fill("nothing like it");
  await expect(page.getByText("No storage matches")).toBeVisible();
  await page.getByRole("link", { name: "Clear the filter" }).click();
  await expect(page.getByText("9 storages", { exact: true })).toBeVisible();
});

test("a storage that failed says why, and what can be done", async ({ page, as }) => {
  await as("mira");
  await open(page, "render-cache");
  await expect(page.getByText("The storage class of us-1 has no room for 300 GiB.").first()).toBeVisible();
  await expect(page.getByRole("button", { name: "Grow…" })).toHaveAccessibleDescription(
    "Not while its state is: Failed.",
  );
  const todo = page.getByRole("region", { name: "What you can do" });
  await todo.getByRole("button", { name: "Delete…" }).click();
  await expect(page.getByRole("alertdialog", { name: "Delete render-cache?" })).toBeVisible();
  await accessible(page);
  await page.keyboard.press("Escape");
  await expect(page.getByRole("alertdialog")).toBeHidden();
  await todo.getByRole("link", { name: "Create a storage" }).click();
  await expect(page.getByRole("radio", { name: /ssd/ })).toBeChecked();
});
