import type { Page } from "@playwright/test";
import { accessible, expect, fits, test } from "./fixtures";

const summary = (page: Page) => page.getByRole("region", { name: "Summary" });
const queue = (page: Page) => page.getByRole("region", { name: "Queue" });
const live = (page: Page) => expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
const list = async (page: Page, query: string) =>
  (await (await page.request.get(`/v1/jobs?${query}`)).json()).items as { id: string }[];
/** The end of an id, as pages show it. */
const short = (id: string) => id.slice(-6);
const rowOf = (page: Page, id: string) =>
  queue(page)
    .getByRole("listitem")
    .filter({ hasText: short(id) });

test("a prompt, its price, one press; pictures appear without a reload", async ({ page, as }) => {
  await as("mira");
  await page.goto("/jobs");
  await live(page);
  await page.getByRole("link", { name: "New pictures" }).click();
  await page.getByLabel("Prompt").fill("harbour at dusk, one boat");
  await page.getByText("Landscape", { exact: true }).click();
  await page.getByRole("radio", { name: "4", exact: true }).check({ force: true });
  const press = summary(page).getByRole("button", { name: /^Make 4 pictures · \$0\.00\d+$/ });
  await expect(press).toBeVisible();
  const before = await press.textContent();
  await page.getByRole("radio", { name: "Urgent" }).check();
  await expect(press).not.toHaveText(before ?? "");
  await accessible(page);
  const asked = page.waitForRequest((it) => it.method() === "POST" && it.url().endsWith("/v1/jobs"));
  await press.click();
  expect((await asked).postDataJSON()).toEqual({
    application: "stable-diffusion",
    method: "txt2img",
    parameters: {
      prompt: "harbour at dusk, one boat",
      width: 944,
      height: 624,
      images: 4,
      steps: 20,
      cfg_scale: 7,
    },
    level: "urgent",
  });
  await expect(page.getByRole("heading", { level: 1, name: "harbour at dusk, one boat" })).toBeVisible();
  await expect(page.getByRole("progressbar")).toBeVisible();
  await expect(page.getByRole("link", { name: "Open Picture 4 large" })).toBeVisible({ timeout: 10_000 });
  await expect(page.getByText(/^4 pictures made in \d+s for \$0\.00/)).toBeVisible();
  await accessible(page);
  await page.getByRole("link", { name: "Make more like this" }).click();
  await expect(page.getByLabel("Prompt")).toHaveValue("harbour at dusk, one boat");
  await expect(page.getByLabel("Width")).toHaveValue("944");
  await expect(page.getByLabel("Seed")).toHaveValue("");
});

test("says in numbers how things stand; why one waits is asked for that one only", async ({ page, as }) => {
  await as("mira");
  const explained: string[] = [];
  page.on("request", (it) => {
    if (it.url().endsWith("/explanation")) explained.push(it.url());
  });
  await page.goto("/jobs");
  await expect(page.getByText(/^2 running, 5 waiting\. /)).toBeVisible();
  await expect(queue(page).getByRole("progressbar").first()).toBeVisible();
  expect(explained).toEqual([]);
  const [, id = ""] = (await list(page, "state=queued")).map((it) => it.id);
  await rowOf(page, id)
    .getByRole("button", { name: /^Why does/ })
    .click();
  await expect(rowOf(page, id)).toContainText("All workers that fit are busy.");
  await expect(rowOf(page, id)).toContainText(/Place 2 · Starts .*\d\d:\d\d to .*\d\d:\d\d/);
  await expect(page).toHaveURL(/\/jobs\?why=/);
  await accessible(page);
  expect(new Set(explained).size).toBe(1);
  await rowOf(page, id)
    .getByRole("button", { name: /^Make it urgent · about \$0\.00/ })
    .click();
  await expect(rowOf(page, id)).toContainText(/Urgent/);
  await expect(rowOf(page, id)).toBeHidden({ timeout: 10_000 });
});

test("filters are in the address", async ({ page, as }) => {
  await as("mira");
  await page.goto("/jobs");
  await page.getByRole("navigation", { name: "How it ended" }).getByRole("link", { name: "Failed" }).click();
  await expect(page).toHaveURL("/jobs?state=failed");
  await expect(page.getByText("3 jobs")).toBeVisible();
  await page.getByRole("combobox", { name: "Kind" }).click();
  await page.getByRole("option", { name: "Training" }).click();
  await expect(page).toHaveURL("/jobs?state=failed&kind=training");
  await expect(page.getByText("2 jobs", { exact: true })).toBeVisible();
  await expect(page.getByText("The job has cost as much as it may.")).toBeVisible();
  await page.goto("/jobs?state=expired&kind=training");
  await expect(page.getByText("No job matches")).toBeVisible();
  await page.getByRole("link", { name: "Clear the filter" }).click();
  await expect(page).toHaveURL("/jobs");
});

test("what cost most is found, and several ends at once, in the address", async ({ page, as }) => {
  await as("mira");
  await page.goto("/jobs");
  const finished = page.getByRole("table", { name: "Finished" });
  const cells = async (column: number) =>
    finished
      .getByRole("row")
      .evaluateAll(
        (rows, at) => rows.slice(1).map((row) => row.querySelectorAll("[role=cell]")[at]?.textContent ?? ""),
        column,
      );
  await page.getByRole("combobox", { name: "Order" }).click();
  await page.getByRole("option", { name: "Most expensive first" }).click();
  await expect(page).toHaveURL("/jobs?sort=-cost");
  const costs = async () => (await cells(4)).map((it) => Number(/\$([\d.]+)/.exec(it)?.[1] ?? 0));
  await expect(async () => {
    const [first = 0, ...rest] = await costs();
    expect(rest.length).toBeGreaterThan(5);
    expect(first).toBe(Math.max(first, ...rest));
  }).toPass();
  expect(await costs()).toEqual((await costs()).toSorted((a, b) => b - a));
  await accessible(page);
  await page.goto("/jobs?state=failed,expired,lost&sort=created_at");
  const ends = page.getByRole("navigation", { name: "How it ended" });
  await expect(ends.getByRole("link", { name: "Failed + Expired" })).toHaveAttribute("aria-current", "true");
  const { length } = await list(page, "state=failed,expired");
  await expect(page.getByText(`${length} jobs`, { exact: true })).toBeVisible();
  expect(new Set((await cells(2)).map((it) => /^(Failed|Expired)/.exec(it)?.[0]))).toEqual(
    new Set(["Failed", "Expired"]),
  );
  // the order stays with another choice
  await ends.getByRole("link", { name: "Failed", exact: true }).click();
  await expect(page).toHaveURL("/jobs?state=failed&sort=created_at");
});

test.describe("refused", () => {
  test.use({ expected: [409, 422] });

  test("a limit below the price is refused at its field, and nothing is lost", async ({ page, as }) => {
    await as("mira");
    await page.goto("/jobs/new");
    await page.getByText("Finer", { exact: true }).click();
    await page.getByLabel("Stop at").fill("0.00001");
    await page.getByLabel("Stop at").press("Enter");
    await expect(page.getByText("Describe the picture.")).toBeVisible();
    await expect(page.getByLabel("Prompt")).toBeFocused();
    await page.getByLabel("Prompt").fill("old forest, fog");
    await page.getByLabel("Stop at").press("Enter");
    await expect(page.getByLabel("Stop at")).toHaveAccessibleDescription(
      /^Half of such jobs cost \$0\.0003 or more\./,
    );
    await expect(page.getByLabel("Stop at")).toBeFocused();
    await accessible(page);
    await page.setViewportSize({ width: 390, height: 780 });
    await fits(page);
    await expect(page.getByLabel("Prompt")).toHaveValue("old forest, fog");
    await page.getByLabel("Stop at").fill("0.5");
    await expect(page.getByText(/^Half of such jobs/)).toBeHidden();
    await page.getByLabel("Stop at").press("Enter");
    await expect(page).toHaveURL(/\/jobs\/job_/);
    await expect(page.getByText("at most $0.50")).toBeVisible();
  });

  test("a cancellation shows at once, and is put back when it is refused", async ({ page, as, provoke }) => {
    await as("mira");
    await page.goto("/jobs");
    await live(page);
    const [, id = ""] = (await list(page, "state=running")).map((it) => it.id);
    await provoke({ operation: "cancelJob", slug: "job-ended", delay: 800 });
    await rowOf(page, id)
      .getByRole("button", { name: /^Cancel / })
      .click();
    await expect(rowOf(page, id)).toContainText("Its worker is told to stop", { timeout: 600 });
    await expect(page.getByText(/ is not cancelled$/)).toBeVisible();
    await expect(rowOf(page, id)).toContainText("Running");
    await rowOf(page, id)
      .getByRole("button", { name: /^Cancel / })
      .click();
    await expect(rowOf(page, id)).toContainText("Stopping");
    await expect(rowOf(page, id)).toBeHidden({ timeout: 10_000 });
    await expect(page.getByRole("row").filter({ hasText: short(id) })).toContainText("Cancelled");
  });
});

test("a failed job says what to do, and what is asked for anew works", async ({ page, as }) => {
  await as("mira");
  await page.goto("/jobs/new");
  await page.getByLabel("Prompt").fill("panorama of the coast");
  await page.getByLabel("Width").fill("2048");
  await page.getByLabel("Height").fill("2048");
  await page.getByRole("radio", { name: "8", exact: true }).check({ force: true });
  await summary(page)
    .getByRole("button", { name: /^Make 8 pictures/ })
    .click();
  await expect(page.getByText("Ask for less at a time")).toBeVisible({ timeout: 10_000 });
  await expect(page.getByText(/^CUDA out of memory/).first()).toBeVisible();
  await expect(page.getByText("it failed", { exact: true })).toBeVisible();
  await accessible(page);
  const again = page.getByRole("button", { name: /^Submit again · \$0\.\d\d/ });
  await expect(again).toBeVisible();
  await page.getByRole("link", { name: "Change and ask again" }).click();
  await expect(page.getByLabel("Prompt")).toHaveValue("panorama of the coast");
  await page.getByRole("radio", { name: "1", exact: true }).check({ force: true });
  await summary(page)
    .getByRole("button", { name: /^Make 1 picture · / })
    .click();
  await expect(page.getByRole("link", { name: "Open Picture 1 large" })).toBeVisible({ timeout: 10_000 });
});

test("the gallery by keyboard: large, next, how it was made, and back where one was", async ({
  page,
  as,
}) => {
  await as("jonas");
  await page.goto("/gallery");
  await expect(page.getByText(/pictures of \d+ jobs are shown/)).toBeVisible();
  const first = page.getByRole("list", { name: "Gallery" }).getByRole("link").first();
  await first.focus();
  await expect(first).toContainText("Seed 2218841073 · sdxl-1.0");
  await page.keyboard.press("Enter");
  const large = page.getByRole("dialog", { name: /^Picture 1 of/ });
  await expect(large).toContainText("harbour at dawn, two sailing boats");
  await expect(large).toContainText("2218841073");
  await accessible(page);
  await page.keyboard.press("ArrowRight");
  await expect(page.getByRole("dialog", { name: /^Picture 2 of/ })).toContainText("2218841074");
  await expect(page).toHaveURL(/\/gallery\?picture=art_/);
  // a link to a picture opens it
  await page.reload();
  await expect(page.getByRole("dialog")).toContainText("2218841074");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(page).toHaveURL("/gallery");
  await first.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(first).toBeFocused();
  // what others made is a beginning, too
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("link", { name: "Variation" }).click();
  await expect(page.getByLabel("Prompt")).toHaveValue(/^harbour at dawn/);
  await expect(page.getByLabel("How much changes")).toHaveValue("0.75");
});

test("a viewer reads everything, and is told why not", async ({ page, as }) => {
  await as("jonas");
  await page.goto("/jobs");
  const make = page.getByRole("button", { name: "New pictures" });
  await expect(make).toHaveAccessibleDescription(/Viewers cannot change anything here/);
  await expect(
    queue(page)
      .getByRole("button", { name: /^Cancel / })
      .first(),
  ).toHaveAccessibleDescription(/Viewers cannot change anything here/);
  await queue(page)
    .getByRole("button", { name: /^Actions for/ })
    .last()
    .click();
  await expect(page.getByRole("menuitem", { name: /^Make it urgent/ })).toContainText(
    "Viewers cannot change",
  );
  await accessible(page);
  await page.goto("/jobs/new");
  await expect(summary(page).getByRole("button", { name: /^Make 1 picture · / })).toHaveAccessibleDescription(
    /Viewers cannot change/,
  );
});

test.describe("live", () => {
  test.use({ expected: [404, 410, 503, 0] });

  test("a cut stream is said, goes on from where it was, and begins anew when it is gone", async ({
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
    await page.goto("/jobs");
    await live(page);
    await provoke({ operation: "followAll", slug: "unavailable", times: 2 });
    await page.request.post("/mock/cut");
    await expect(page.getByRole("status").filter({ hasText: "Reconnecting…" })).toBeVisible();
    const [{ id } = { id: "" }] = await list(page, "state=queued");
    await context.request.post(`/v1/jobs/${id}/cancel`, {
      headers: { "idempotency-key": crypto.randomUUID() },
    });
    await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible({ timeout: 15_000 });
    await expect(page.getByRole("row").filter({ hasText: short(id) })).toContainText("Cancelled");
    expect(positions[0]).toBeUndefined();
    expect(positions.at(-1)).toMatch(/jobs=[1-9]/);
    // a restored platform has forgotten: everything is read again
    await page.request.post("/mock/change", { data: { empty: true, forgetEvents: true } });
    await page.request.post("/mock/cut");
    await expect(page.getByText("No job yet")).toBeVisible({ timeout: 15_000 });
  });
});

for (const look of [{ theme: "light" }, { theme: "dark", language: "zh-CN" }] as const)
  test(`at 390 px: ${look.theme}`, async ({ page, as, looks }) => {
    await page.setViewportSize({ width: 390, height: 780 });
    await looks(look);
    await as("mira");
    await page.goto("/jobs");
    await queue(page).or(page.locator("main section").first()).first().getByRole("button").nth(2).click();
    await accessible(page);
    await fits(page);
    await page.goto("/jobs/new");
    const press = page.locator("button[type=submit]:visible");
    await expect(press).toHaveCount(1);
    await expect(press).toBeInViewport();
    await fits(page);
    await page.goto("/gallery");
    await page.getByRole("list").getByRole("link").last().click();
    await expect(page.getByRole("dialog")).toBeVisible();
    await accessible(page);
    await fits(page);
  });
