import type { Page } from "@playwright/test";
import { accessible, expect, fits, test } from "./fixtures";

const row = (page: Page, name: string) => page.getByRole("row").filter({ hasText: name });
const menu = (page: Page, name: string) => page.getByRole("button", { name: `Actions for ${name}` });
const change = (page: Page, data: object) => page.request.post("/mock/change", { data });
const streams = async (page: Page) => (await page.request.get("/mock/streams")).json();

test("says in numbers how things stand, and why each is as it is", async ({ page, as }) => {
  await as("mira");
  await page.goto("/instances");
  await expect(page.getByText("4 running, $3.57 an hour.")).toBeVisible();
  await expect(page.getByText("1 waits for a place. 2 need a look.")).toBeVisible();
  await expect(row(page, "cover-art")).toContainText("Place 3 of 5, in about 12 min");
  await expect(row(page, "winter-pass")).toContainText("Loading the image, 61 %.");
  await expect(row(page, "props-and-weapons")).toContainText("Idle, stops at");
  await expect(row(page, "trailer-frames")).toContainText("GPU kept until");
  await expect(row(page, "texture-tests")).toContainText("Did not start");
  await expect(row(page, "backgrounds-act-2").getByRole("img")).toHaveAccessibleName(/^Ran for 8h \d\dm/);
  await menu(page, "worker-7c41").click();
  await expect(page.getByRole("menuitem", { name: "Delete…" })).toContainText("The service jobs runs this");
  await accessible(page);
});

test("time and cost tick together", async ({ page, as }) => {
  await page.clock.install();
  await as("mira");
  await page.goto("/instances");
  const seconds = async () => {
    const text = (await row(page, "lora-heroine").textContent()) ?? "";
    const [, h, m, sec] = /(\d+)h (\d\d)m (\d\d)s/.exec(text) ?? [];
    return { all: Number(h) * 3600 + Number(m) * 60 + Number(sec), cost: /\$(\d+\.\d\d)/.exec(text)?.[1] };
  };
  await expect(row(page, "lora-heroine")).toContainText(/\d+h \d\dm \d\ds/);
  const before = await seconds();
  await page.clock.fastForward("01:00:00");
  await expect.poll(async () => (await seconds()).all).toBeGreaterThanOrEqual(before.all + 3600);
  const after = await seconds();
  // one clock: the cost is that of the time beside it, at 1.89 an hour
  expect(Math.abs(Number(after.cost) - (1.89 * after.all) / 3600)).toBeLessThan(0.011);
});

test("filters by state and name, in the address", async ({ page, as }) => {
  await as("mira");
  await page.goto("/instances");
  await page.getByRole("navigation", { name: "State" }).getByRole("link", { name: "Running" }).click();
  await expect(page).toHaveURL("/instances?state=running");
  await expect(page.getByText("4 instances")).toBeVisible();
  await page.getByRole("searchbox", { name: "Name contains" }).fill("ba");
  await expect(page).toHaveURL("/instances?name=ba&state=running");
  await expect(page.getByText("1 instance", { exact: true })).toBeVisible();
  await page.goto("/instances?name=zzz");
  await expect(page.getByText("No instance matches")).toBeVisible();
  // the sentence is about all of them
  await expect(page.getByText("4 running, $3.57 an hour.")).toBeVisible();
  await page.getByRole("link", { name: "Clear the filter" }).click();
  await expect(page.getByText("12 instances")).toBeVisible();
});

test("a stop shows at once and arrives without a reload; so does a start, in its steps", async ({
  page,
  as,
}) => {
  await as("mira");
  await page.goto("/instances");
  await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
  await menu(page, "character-sheets").click();
  await page.getByRole("menuitem", { name: "Stop", exact: true }).click();
  await expect(row(page, "character-sheets")).toContainText("Stopping");
  await expect(row(page, "character-sheets")).toContainText("Stopped");
  await expect(page.getByText("3 running, $3.37 an hour.")).toBeVisible();
  await menu(page, "character-sheets").click();
  await page.getByRole("menuitem", { name: "Start · $0.20/h" }).click();
  await expect(row(page, "character-sheets")).toContainText("Starting");
  await expect(row(page, "character-sheets")).toContainText(/Loading the image|image is loaded/);
  await expect(row(page, "character-sheets")).toContainText("Running");
  await expect(page.getByText("4 running, $3.57 an hour.")).toBeVisible();
  await expect(page.getByRole("status").filter({ hasText: "character-sheets: Running" })).toBeAttached();
});

test.describe("refused", () => {
  test.use({ expected: [409, 503, 429] });

  test("what was expected is put back, and it says why", async ({ page, as, provoke }) => {
    await as("mira");
    await page.goto("/instances");
    await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
    await provoke({ operation: "stopInstance", slug: "instance-state", delay: 3000 });
    await menu(page, "backgrounds-act-2").click();
    await page.getByRole("menuitem", { name: "Stop", exact: true }).click();
    await expect(row(page, "backgrounds-act-2")).toContainText("Stopping", { timeout: 2500 });
    await expect(page.getByText("backgrounds-act-2 is not stopped")).toBeVisible();
    await expect(page.getByText("Its state does not allow this at the moment.")).toBeVisible();
    await expect(row(page, "backgrounds-act-2")).toContainText("Running");
    await expect(page.getByText("4 running, $3.57 an hour.")).toBeVisible();
  });

  test("several at once: what became of each", async ({ page, as, provoke }) => {
    await as("mira");
    await page.goto("/instances");
    for (const name of ["storyboard", "poster-march", "lora-heroine"])
      await page.getByRole("checkbox", { name: `Choose ${name}` }).check();
    await expect(page.getByRole("group", { name: "3 chosen" })).toBeVisible();
    await accessible(page);
    await provoke({ operation: "startInstance", slug: "quota-exceeded" });
    await page.getByRole("button", { name: "Start 2 · $0.40/h" }).click();
    const dialog = page.getByRole("dialog", { name: "Result" });
    await expect(dialog).toContainText("1 of 2 done, 1 was refused");
    await expect(dialog).toContainText("The quota of the studio is used up.");
    await accessible(page);
    await dialog.getByRole("button", { name: "Done" }).click();
    await expect(page.getByRole("group", { name: /chosen/ })).toBeHidden();
  });

  test("a cut line is said and healed, and what happened meanwhile is there", async ({
    page,
    as,
    provoke,
    context,
  }) => {
    const positions: (string | undefined)[] = [];
    page.on("request", (it) => {
      if (it.url().endsWith("/v1/stream")) positions.push(it.headers()["last-event-id"]);
    });
    await as("mira");
    await page.goto("/instances");
    await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
    await provoke({ operation: "followAll", slug: "unavailable", times: 2 });
    await page.request.post("/mock/cut");
    await expect(page.getByRole("status").filter({ hasText: "Reconnecting…" })).toBeVisible();
    const ids = (await (await context.request.get("/v1/instances?name=props")).json()).items;
    await context.request.post(`/v1/instances/${ids[0].id}/stop`, {
      headers: { "idempotency-key": crypto.randomUUID() },
    });
    await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible({ timeout: 15_000 });
    await expect(row(page, "props-and-weapons")).toContainText("Stopped");
    // it went on from where it was, before any event had come
    expect(positions[0]).toBeUndefined();
    expect(positions.at(-1)).toMatch(/gpu=[1-9]/);
  });
});

test.describe("after a restore", () => {
  test.use({ expected: [410] });

  test("the lists are read again when the events are gone", async ({ page, as }) => {
    await as("mira");
    await page.goto("/instances");
    await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
    await change(page, { forgetEvents: true, instances: 1 });
    await page.request.post("/mock/cut");
    await expect(row(page, "sheet-0")).toBeVisible();
    await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
  });
});

test("a list that is read while events are heard is read once; one that was read before is read again", async ({
  page,
  as,
  provoke,
  settled,
}) => {
  const lists: string[] = [];
  page.on("request", (it) => {
    if (new URL(it.url()).pathname === "/v1/instances") lists.push(it.url());
  });
  const live = page.getByRole("status").filter({ hasText: "Live" });
  await as("mira");
  // at first the browser knows nothing of the caller, then it asks before the code of the page is there
  for (const load of [() => page.goto("/instances"), () => page.reload()]) {
    lists.length = 0;
    await load();
    await expect(live).toBeVisible();
    await expect(row(page, "cover-art")).toBeVisible();
    await settled();
    expect(lists).toHaveLength(1);
  }
  lists.length = 0;
  await provoke({ operation: "followAll", delay: 5000 });
  await page.reload();
  await expect(row(page, "cover-art")).toBeVisible();
  await expect(page.getByRole("status").filter({ hasText: "Connecting…" })).toBeVisible();
  // nobody tells of it
  await change(page, { instances: 1 });
  await expect(row(page, "sheet-0")).toBeVisible();
  await expect(live).toBeVisible();
  expect(lists).toHaveLength(2);
});

test("two tabs share the stream, and the other takes them over", async ({ page, as, context }) => {
  await as("mira");
  await page.goto("/instances");
  const other = await context.newPage();
  await other.goto("/instances");
  for (const tab of [page, other])
    await expect(tab.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
  expect(await streams(page)).toBe(1);
  await menu(other, "character-sheets").click();
  await other.getByRole("menuitem", { name: "Stop", exact: true }).click();
  for (const tab of [other, page]) {
    await tab.bringToFront();
    await expect(row(tab, "character-sheets")).toContainText("Stopped");
  }
  await page.close();
  await expect.poll(() => streams(other)).toBe(1);
  await menu(other, "character-sheets").click();
  await other.getByRole("menuitem", { name: "Start · $0.20/h" }).click();
  await expect(row(other, "character-sheets")).toContainText("Running", { timeout: 10_000 });
});

test("a delete names what is lost and what stays", async ({ page, as }) => {
  await as("mira");
  await page.goto("/instances");
  await menu(page, "texture-tests").click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  const dialog = page.getByRole("alertdialog", { name: "Delete texture-tests?" });
  await expect(dialog).toContainText("What stays: texture-refs, for $0.60 a month.");
  await accessible(page);
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(row(page, "texture-tests")).toBeHidden();
  await expect(page.getByText("11 instances")).toBeVisible();
});

test("a menu is gone through by keyboard, and gives the focus back", async ({ page, as }) => {
  await as("mira");
  await page.goto("/instances");
  const button = menu(page, "texture-tests");
  const entry = (name: string) => page.getByRole("menuitem", { name });
  await button.focus();
  await page.keyboard.press("ArrowDown");
  await expect(entry("Start · ")).toBeFocused();
  await page.keyboard.press("ArrowUp");
  await expect(entry("Delete…")).toBeFocused();
  await page.keyboard.press("d");
  await expect(entry("Details")).toBeFocused();
  await page.keyboard.press("End");
  await expect(entry("Delete…")).toBeFocused();
  await accessible(page);
  await page.keyboard.press("Escape");
  await expect(page.getByRole("menu")).toBeHidden();
  await expect(button).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(entry("Start · ")).toBeFocused();
  // a press beside it closes it, and does nothing else
  await page.getByRole("link", { name: "Start an instance" }).click({ force: true, noWaitAfter: true });
  await expect(page.getByRole("menu")).toBeHidden();
  await expect(page).toHaveURL("/instances");
  await button.click();
  await entry("Details").click();
  await expect(page).toHaveURL(/\/instances\/inst_/);
});

test("Open leads to the service in a new tab", async ({ page, as, context }) => {
  await as("mira");
  await page.goto("/instances");
  const opened = context.waitForEvent("page");
  await page.getByRole("link", { name: "Open WebUI of character-sheets, in a new tab" }).click();
  await (await opened).waitForURL(/harbour\.svg/);
});

test("many are read page by page, of which few are in the document", async ({ page, as }) => {
  await as("mira");
  await change(page, { instances: 230 });
  await page.goto("/instances");
  await expect(page.getByText("100 of 242 instances")).toBeVisible();
  await page.getByRole("combobox", { name: "Order" }).click();
  await page.getByRole("option", { name: "Name, A to Z" }).click();
  await expect(page).toHaveURL("/instances?sort=name");
  await expect(page.getByRole("row").nth(1)).toContainText("backgrounds-act-2");
  await page.goto("/instances");
  await expect(page.getByText("100 of 242 instances")).toBeVisible();
  await expect(page.getByText("4 running, $3.57 an hour.")).toBeVisible();
  const table = page.getByRole("table", { name: "Instances" });
  await table.getByRole("rowgroup").last().focus();
  await expect(async () => {
    await page.keyboard.press("End");
    await expect(page.getByText("242 instances")).toBeVisible({ timeout: 300 });
  }).toPass();
  await expect(async () => {
    await page.keyboard.press("End");
    await expect(row(page, "poster-march")).toBeVisible({ timeout: 300 });
  }).toPass();
  expect(await table.getByRole("row").count()).toBeLessThan(60);
  await accessible(page);
});

test("shows a viewer reasons instead of buttons", async ({ page, as }) => {
  await as("jonas");
  await page.goto("/instances");
  await menu(page, "storyboard").click();
  await expect(page.getByRole("menuitem", { name: /^Start · / })).toContainText("Viewers cannot change");
  await expect(page.getByRole("checkbox")).toHaveCount(0);
});

test("teaches when there is none", async ({ page, as }) => {
  await as("mira");
  await change(page, { empty: true });
  await page.goto("/instances");
  await expect(page.getByText("No instance yet")).toBeVisible();
  await expect(page.getByText(/curl -X POST/)).toContainText('{"service":');
  await accessible(page);
});

test("the palette finds instances by name and acts on them, by keyboard", async ({ page, as }) => {
  await as("mira");
  await page.goto("/members");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("ControlOrMeta+k");
  const input = page.getByRole("combobox", { name: "Search and commands" });
  await input.fill("stop props");
  await expect(page.getByRole("option")).toHaveText(["Stop props-and-weapons"]);
  await accessible(page);
  await page.keyboard.press("Enter");
  await page.keyboard.press("g");
  await page.keyboard.press("i");
  await expect(row(page, "props-and-weapons")).toContainText("Stopped");
});

for (const look of [{ theme: "light" }, { theme: "dark", language: "zh-CN" }] as const)
  test(`at 390 px: ${look.theme}`, async ({ page, as, looks }) => {
    await page.setViewportSize({ width: 390, height: 780 });
    await looks(look);
    await as("mira");
    await page.goto("/instances");
    await row(page, "trailer-frames").getByRole("button").last().click();
    await expect(page.getByRole("menu")).toBeVisible();
    await accessible(page);
    await fits(page);
  });
