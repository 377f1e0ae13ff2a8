import type { Page } from "@playwright/test";
import type { InstanceId } from "../src/api/generated/types";
import { accessible, expect, fits, test } from "./fixtures";

async function idOf(page: Page, name: string): Promise<InstanceId> {
  const answer = await page.request.get("/v1/instances?limit=100");
  const { items } = (await answer.json()) as { items: { id: InstanceId; name: string }[] };
  return items.find((it) => it.name === name)?.id as InstanceId;
}

async function open(page: Page, name: string, tab = "") {
  await page.goto(`/instances/${await idOf(page, name)}${tab}`);
  await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
}

test("a running instance: what it is, costs and uses, at any width", async ({ page, as }) => {
  await as("mira");
  await open(page, "character-sheets");
  await expect(page.getByText(/Running for 4h 03m \d\ds, \$0\.81 so far\./)).toBeVisible();
  await expect(page.getByText("RTX 3080 · 10 GB")).toBeVisible();
  await expect(page.getByText("After a stop: $1.80 a month for storage")).toBeVisible();
  await expect(page.getByRole("link", { name: /Open WebUI of character-sheets/ })).toHaveAttribute(
    "target",
    "_blank",
  );
  await expect(page.getByRole("img", { name: /GPU use, newest: GPU use \d+ %/ })).toBeVisible();
  await expect(page.getByText(/No readings from/)).toBeVisible();
  const start = page.getByRole("region", { name: "The last start" });
  await expect(start.getByRole("listitem")).toHaveCount(4);
  await expect(start).toContainText("heroine-sheets");
  await page.getByText("24 h", { exact: true }).click();
  await expect(page).toHaveURL(/range=24h/);
  for (const width of [1360, 1024, 390]) {
    await page.setViewportSize({ width, height: 860 });
    await fits(page);
    await accessible(page);
  }
});

test("what nobody measures is said, with the reason", async ({ page, as }) => {
  await as("mira");
  await open(page, "lora-heroine");
  await expect(page.getByText("This datacenter does not measure it.").first()).toBeVisible();
  await expect(page.getByRole("img", { name: /CPU and memory, newest: CPU \d+ %/ })).toBeVisible();
});

test("a start is seen going on, and runs without a reload", async ({ page, as }) => {
  await as("mira");
  await open(page, "storyboard");
  await page.getByRole("button", { name: "Start · $0.20/h" }).click();
  const starting = page.getByRole("region", { name: "Starting" });
  await expect(starting.locator("[aria-current=step]")).toBeVisible();
  await expect(starting).toContainText("by Mira Okafor");
  await accessible(page);
  await expect(page.getByText(/Running for \d+s/)).toBeVisible({ timeout: 20_000 });
  await expect(page.getByRole("region", { name: "The last start" })).toContainText("WebUI answers");
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await expect(page.getByText("Stopping").first()).toBeVisible();
  await expect(page.getByRole("button", { name: "Start · $0.20/h" })).toBeVisible({ timeout: 20_000 });
});

test("a failed start says why, and starts with another version", async ({ page, as }) => {
  await as("mira");
  await open(page, "texture-tests");
  await expect(page.getByRole("heading", { name: "The image cannot be loaded." })).toBeVisible();
  await expect(page.getByText("error: manifest unknown").first()).toBeVisible();
  for (const width of [1360, 1024, 390]) {
    await page.setViewportSize({ width, height: 860 });
    await fits(page);
  }
  await accessible(page);
  await page.setViewportSize({ width: 1360, height: 860 });
  await page.getByRole("button", { name: "Start with 1.10 · $0.26/h" }).click();
  await expect(page.getByText(/Running for \d+s/)).toBeVisible({ timeout: 20_000 });
  await expect(page.getByText("stable-diffusion-webui 1.10")).toBeVisible();
});

test("what waits for a place starts on what has room", async ({ page, as }) => {
  await as("mira");
  await open(page, "cover-art");
  await expect(page.getByText(/Place 3 of 5, in about \d+ min/).first()).toBeVisible();
  await accessible(page);
  await page.getByRole("button", { name: "Start there · $1.12/h" }).click();
  await expect(page.getByText(/Running for \d+s/)).toBeVisible({ timeout: 25_000 });
  await expect(page.getByText("L40S · 48 GB")).toBeVisible();
});

test("the log is followed while the reader is at its end, and searched", async ({ page, as }) => {
  await as("mira");
  await open(page, "character-sheets", "/log");
  const log = page.getByRole("log");
  await expect(page.getByText("Following. Scroll up to pause.")).toBeVisible();
  const atEnd = () =>
    log.evaluate((box) => Math.abs(box.scrollHeight - box.scrollTop - box.clientHeight) < 30);
  await expect.poll(atEnd).toBe(true);
  await log.hover();
  await page.mouse.wheel(0, -600);
  await expect(page.getByText("Paused while you read.")).toBeVisible();
  const resume = page.getByRole("button", { name: /[1-9]\d* new lines?/ });
  await expect(resume).toBeVisible({ timeout: 15_000 });
  expect(await atEnd()).toBe(false);
  await accessible(page);
  await resume.click();
  await expect(page.getByText("Following. Scroll up to pause.")).toBeVisible();
  await expect.poll(atEnd).toBe(true);
  await page.getByRole("searchbox", { name: "Search the log" }).fill("Startup time");
  await expect(page.getByText("1 of 1")).toBeVisible();
  await expect(log.locator("mark")).toHaveText("Startup time");
  for (const width of [1360, 1024, 390]) {
    await page.setViewportSize({ width, height: 860 });
    await fits(page);
  }
});

test("a lost line of the log continues where it was", async ({ page, as }) => {
  const positions: (string | undefined)[] = [];
  page.on("request", (it) => {
    if (it.url().includes("/log?")) positions.push(it.headers()["last-event-id"]);
  });
  await as("mira");
  await open(page, "character-sheets", "/log");
  await expect(page.getByText("Following. Scroll up to pause.")).toBeVisible();
  await page.request.post("/mock/cut");
  await expect.poll(() => positions.length).toBe(2);
  await expect(page.getByText("Following. Scroll up to pause.")).toBeVisible();
  expect(positions[0]).toBeUndefined();
  // the attempt, and the number of the last line that came
  expect(positions[1]).toMatch(/^\d+-\d+$/);
});

test.describe("terminal", () => {
  // what asks why a WebSocket was refused
  test.use({ expected: [410, 426] });

  test("it answers, stays while one looks elsewhere, and finds a lost line again", async ({ page, as }) => {
    await as("mira");
    await open(page, "character-sheets", "/terminal");
    await expect(page.getByText("Connected", { exact: true })).toBeVisible();
    const screen = page.getByTestId("terminal");
    await page.keyboard.type("echo first line\n");
    await expect(screen.locator(".xterm-rows")).toContainText("first line");
    await page.getByRole("link", { name: "Runs" }).click();
    await expect(page.getByRole("table", { name: "Runs of character-sheets" })).toBeVisible();
    await page.getByRole("link", { name: "Terminal" }).click();
    await expect(screen.locator(".xterm-rows")).toContainText("first line");
    await page.request.post("/mock/cut");
    await expect(page.getByText(/The connection was lost/)).toBeVisible();
    await expect(page.getByText("Connected", { exact: true })).toBeVisible({ timeout: 15_000 });
    await screen.click();
    await page.keyboard.type("echo second line\n");
    await expect(screen.locator(".xterm-rows")).toContainText("second line");
    await page.keyboard.type("exit 3\n");
    await expect(page.getByText("The shell has ended with code 3")).toBeVisible();
    await accessible(page);
    await page.getByRole("button", { name: "Open a new one" }).click();
    await expect(page.getByText("Connected", { exact: true })).toBeVisible();
    await page.setViewportSize({ width: 390, height: 860 });
    await fits(page);
  });
});

test("a stopped instance has no terminal, and says what it needs", async ({ page, as }) => {
  await as("mira");
  await open(page, "storyboard", "/terminal");
  await expect(page.getByText("It needs a running instance")).toBeVisible();
});

test("all runs, with what each cost", async ({ page, as }) => {
  await as("mira");
  await open(page, "character-sheets", "/runs");
  const table = page.getByRole("table", { name: "Runs of character-sheets" });
  await expect(table.getByRole("row")).toHaveCount(9);
  await expect(page.getByText("$9.23 on the bill")).toBeVisible();
  await accessible(page);
  await page.setViewportSize({ width: 390, height: 860 });
  await fits(page);
});

test("a share link is shown once, and ended", async ({ page, as }) => {
  await as("mira");
  await open(page, "character-sheets", "/access");
  await page.getByRole("button", { name: "New link" }).click();
  const dialog = page.getByRole("dialog", { name: "New link" });
  await expect(dialog.getByLabel("What it is for")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(dialog.getByText("Enter what the link is for.")).toBeVisible();
  await dialog.getByLabel("What it is for").fill("Review with the client");
  await accessible(page);
  await page.keyboard.press("Enter");
  const shown = page.getByRole("dialog", { name: "The link “Review with the client”" });
  await expect(shown.getByText(/\/\.atelier\/share\?link=/)).toBeVisible();
  await accessible(page);
  await shown.getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "End it: the link Review with the client" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "End it" }).click();
  await expect(page.getByRole("alertdialog")).toBeHidden();
  await expect(page.getByText("Review with the client", { exact: true })).toBeHidden();
  await expect(page.getByText(/^ssh inst_\w+@ssh\.atelier\.example$/)).toBeVisible();
  await page.setViewportSize({ width: 390, height: 860 });
  await fits(page);
});

test("settings: the name, the idle stop, and another GPU with its price", async ({ page, as }) => {
  await as("mira");
  await open(page, "storyboard", "/settings");
  await page.getByRole("button", { name: "Rename…" }).click();
  await page.getByRole("dialog").getByLabel("Name", { exact: true }).fill("storyboard-2");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: "storyboard-2" })).toBeVisible();
  await page.getByRole("combobox", { name: "Stop when idle" }).click();
  await page.getByRole("option", { name: "after 30 min" }).click();
  await page.getByRole("button", { name: "Save" }).first().click();
  await expect(page.getByText("Saved")).toBeVisible();
  await page.getByRole("combobox", { name: "GPU" }).click();
  await page.getByRole("option", { name: /RTX 4090/ }).click();
  await expect(page.getByText("$0.20/h becomes $0.74/h from the next start.")).toBeVisible();
  await accessible(page);
  await page.getByRole("button", { name: "Save" }).last().click();
  await expect(page.getByRole("button", { name: "Start · $0.74/h" })).toBeVisible();
  await page.setViewportSize({ width: 390, height: 860 });
  await fits(page);
});

test.describe("deletion", () => {
  // what is deleted is asked for until it is gone
  test.use({ expected: [404] });

  test("a deletion names what is lost and what stays", async ({ page, as }) => {
    await as("mira");
    await open(page, "character-sheets");
    await page.getByRole("button", { name: "Actions for character-sheets" }).click();
    await accessible(page);
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    const dialog = page.getByRole("alertdialog", { name: "Delete character-sheets?" });
    await expect(dialog.getByText(/What stays: heroine-sheets, for \$1\.80 a month\./)).toBeVisible();
    await accessible(page);
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(page).toHaveURL("/instances");
    await expect(page.getByRole("row", { name: /character-sheets/ })).toBeHidden({ timeout: 15_000 });
  });
});

test("a viewer sees reasons", async ({ page, as }) => {
  await as("jonas");
  await open(page, "character-sheets");
  await expect(page.getByRole("button", { name: "Stop", exact: true })).toHaveAttribute(
    "aria-disabled",
    "true",
  );
  await page.getByRole("link", { name: "Terminal" }).click();
  await expect(page.getByText("No terminal for you here")).toBeVisible();
});

for (const look of [
  { theme: "dark", language: "en" },
  { theme: "light", language: "zh-CN" },
] as const)
  test(`every tab is accessible: ${look.theme}, ${look.language}`, async ({ page, as, looks }) => {
    await looks(look);
    await as("mira");
    for (const tab of ["", "/log", "/terminal", "/access", "/runs", "/settings"]) {
      await open(page, "character-sheets", tab);
      await page.waitForLoadState("domcontentloaded");
      await accessible(page);
      await fits(page);
    }
    await open(page, "texture-tests");
    await accessible(page);
  });
