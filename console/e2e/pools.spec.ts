import type { Locator, Page } from "@playwright/test";
import { accessible, expect, fits, test } from "./fixtures";

async function open(page: Page, name: string) {
  await page.goto("/admin/pools");
  await page.getByRole("link", { name, exact: true }).click();
  await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
}

async function choose(page: Page, field: string, option: string | RegExp) {
  await page.getByRole("combobox", { name: field }).click();
  await page.getByRole("option", { name: option }).click();
}

const told = (page: Page | Locator) => page.getByRole("status").filter({ hasText: "What this does" });
const row = (table: Locator, name: string) => table.getByRole("row").filter({ hasText: name });

test.use({ expected: [409, 412] });

test.beforeEach(({ as }) => as("mara"));

test("a pool is made on one page, which says what it will do and cost, and its workers come", async ({
  page,
}) => {
  await page.goto("/admin/pools");
  await page.getByRole("link", { name: "New pool" }).click();
  await page.getByLabel("Name", { exact: true }).fill("portraits");
  await choose(page, "Add a specification", /^4090-small-4-1/);
  await choose(page, "Add a specification", /^3080-small-8-1/);
  await page.getByRole("button", { name: "Prefer 3080-small-8-1 more" }).click();
  await choose(page, "Workers paid by", "Atelier Workers");
  await choose(page, "Service", /^worker-webui/);
  await page.getByLabel("Firm at least").fill("2");
  await expect(told(page)).toContainText("2 to 4 firm workers on 3080-small-8-1: $0.52/h to $1.04/h");
  await expect(told(page)).toContainText("Atelier Workers pays for them");
  await accessible(page);
  await page.getByRole("button", { name: "Create pool" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "portraits" })).toBeVisible();
  const workers = page.getByRole("table", { name: "Workers" });
  await expect(workers.getByText("Starting")).toHaveCount(2);
  // without a reload
  await expect(workers.getByText("Ready")).toHaveCount(2);
  await page.getByRole("link", { name: "Pools" }).first().click();
  await expect(page.getByText("5 pools, ready workers: 24.")).toBeVisible();
});

test("what is missing is said at its field, and a name that is taken keeps all that was typed", async ({
  page,
}) => {
  await page.goto("/admin/pools/new");
  await page.getByLabel("Name", { exact: true }).fill("generation");
  await page.getByRole("checkbox", { name: /command/ }).check();
  await page.getByLabel("Firm at least").fill("9");
  await page.getByRole("button", { name: "Create pool" }).click();
  // the first of them has the focus
  await expect(page.getByRole("combobox", { name: "Add a specification" })).toBeFocused();
  await expect(page.getByText("Choose a tenant: it pays for the workers.")).toBeVisible();
  await expect(page.getByText(/Programs of a tenant run in a dedicated pool only: choose/)).toBeVisible();
  await expect(page.getByText("Use at most the value of “Firm at most”.")).toBeVisible();
  await accessible(page);
  await choose(page, "Add a specification", /^l40s-small-8-1/);
  await choose(page, "Workers paid by", "Ironwood VFX");
  await page.getByRole("checkbox", { name: /Run only jobs of this tenant/ }).check();
  await choose(page, "Service", /^worker-trainer/);
  await page.getByLabel("Firm at most").fill("9");
  await expect(told(page)).toContainText("of Ironwood VFX only");
  await page.getByRole("button", { name: "Create pool" }).click();
  await expect(page.getByRole("alert")).toContainText("This name is taken");
  await page.getByLabel("Name", { exact: true }).fill("ironwood-loras");
  await page.getByRole("button", { name: "Create pool" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "ironwood-loras" })).toBeVisible();
});

test("a change says what happens to workers that run, and they are drained", async ({ page }) => {
  await open(page, "generation");
  await page.getByRole("link", { name: "Change…" }).click();
  const save = page.getByRole("button", { name: "Save" });
  await expect(save).toHaveAccessibleDescription("Nothing is changed yet.");
  await page.getByLabel("Firm at least").fill("2");
  await page.getByLabel("Firm at most").fill("5");
  await page.getByLabel("Background jobs").fill("0.5");
  await expect(told(page)).toContainText("Firm at most: 12 ($3.12/h) 5 ($1.30/h)");
  await expect(told(page)).toContainText("3 workers too many end, each when its job has ended");
  await expect(told(page)).toContainText("Jobs that run keep their price");
  await accessible(page);
  await save.click();
  await expect(page.getByText("2 to 5 firm, up to 20 lent")).toBeVisible();
  await expect(page.getByRole("table", { name: "Workers" }).getByText("Drains")).toHaveCount(1);
});

test("what others changed meanwhile is shown, and only one's own change is sent", async ({ page }) => {
  await open(page, "training");
  const id = page.url().split("/").pop();
  await page.getByRole("link", { name: "Change…" }).click();
  await page.getByLabel("Firm at most").fill("8");
  const theirs = await page.request.patch(`/v1/platform-pools/${id}`, {
    headers: { "if-match": "*" },
    data: { level_factors: { urgent: "2", ordinary: "1", background: "0.4" } },
  });
  expect(theirs.ok()).toBe(true);
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("alert")).toContainText("urgent 2, ordinary 1, background 0.4");
  await expect(page.getByLabel("Firm at most")).toHaveValue("8");
  const sent = page.waitForRequest((request) => request.method() === "PATCH");
  await page.getByRole("button", { name: "Save" }).click();
  expect(Object.keys((await sent).postDataJSON())).toEqual(["workers"]);
  await expect(page.getByText("2 to 8 firm, up to 0 lent")).toBeVisible();
  await expect(page.getByText("urgent 2, ordinary 1, background 0.4")).toBeVisible();
});

test("a worker is registered with a token that is shown once, and deleted when it has no job", async ({
  page,
  provoke,
}) => {
  await open(page, "workshop");
  await page.getByRole("button", { name: "Register a worker…" }).click();
  await expect(page).toHaveURL(/open=register/);
  const dialog = page.getByRole("dialog", { name: "Register a worker" });
  await dialog.getByLabel("Name").fill("workshop-a");
  await dialog.getByLabel("Node").fill("basement-2");
  await dialog.getByRole("button", { name: "Register" }).click();
  await expect(dialog.getByRole("alert")).toContainText("This name is taken");
  await dialog.getByLabel("Name").fill("workshop-c");
  await dialog.getByRole("button", { name: "Register" }).click();
  const shown = page.getByRole("dialog", { name: "Token of workshop-c" });
  await expect(shown.getByText(/ATELIER_WORKER_TOKEN=awt_/)).toBeVisible();
  await accessible(page);
  await shown.getByRole("button", { name: "Done" }).click();
  const workers = page.getByRole("table", { name: "Workers" });
  await expect(row(workers, "workshop-c")).toContainText("Not started yet");
  await row(workers, "workshop-a").getByRole("button").click();
  await expect(page.getByRole("menuitem", { name: "Delete…" })).toContainText("It runs a job.");
  await page.keyboard.press("Escape");
  await row(workers, "workshop-b").getByRole("button").click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  const ask = page.getByRole("alertdialog", { name: "Delete the worker workshop-b?" });
  await provoke({ operation: "deletePlatformWorker", slug: "worker-busy" });
  await ask.getByRole("button", { name: "Delete worker" }).click();
  await expect(ask.getByRole("alert")).toBeVisible();
  await ask.getByRole("button", { name: "Delete worker" }).click();
  await expect(workers).not.toContainText("workshop-b");
});

test("a worker of the platform is drained, and a tenant gets the default share again", async ({ page }) => {
  await open(page, "generation");
  const workers = page.getByRole("table", { name: "Workers" });
  await row(workers, "generation-4").getByRole("button").click();
  await page.getByRole("menuitem", { name: "Drain…" }).click();
  const ask = page.getByRole("alertdialog", { name: "Drain the worker generation-4?" });
  await expect(ask).toContainText("its instance is deleted when its job has ended");
  await accessible(page);
  await ask.getByRole("button", { name: "Drain worker" }).click();
  await expect(row(workers, "generation-4")).toContainText("Drains");
  const shares = page.getByRole("table", { name: "Shares of tenants" });
  await row(shares, "Atlas Animation").getByRole("button").click();
  await page.getByRole("menuitem", { name: "Back to the default…" }).click();
  const dialog = page.getByRole("dialog", { name: "Give Atlas Animation the default share?" });
  await expect(told(dialog)).toContainText("Weight: 300 100");
  await accessible(page);
  await dialog.getByRole("button", { name: "Use the default" }).click();
  await expect(shares).not.toContainText("Atlas Animation");
});

test("the order of specifications is changed by keyboard alone, also on a narrow screen", async ({
  page,
}) => {
  await page.setViewportSize({ width: 390, height: 780 });
  await page.goto("/admin/pools/new?like=generation");
  await expect(page.getByText("As generation, under another name.")).toBeVisible();
  await page.getByRole("button", { name: "Prefer 3080-small-8-1 less" }).press("Enter");
  await expect(page.getByRole("button", { name: "Prefer 3080-small-8-1 more" })).toBeFocused();
  const rows = page.getByRole("listitem").filter({ has: page.getByRole("button", { name: /^Prefer/ }) });
  await expect(rows).toContainText([/4090-small-4-1\s*firm workers/, "3080-small-8-1"]);
  await fits(page);
  await accessible(page);
});
