import type { Page } from "@playwright/test";
import { drawn } from "./drawn";
import { accessible, expect, fits, test } from "./fixtures";

const choose = async (page: Page, count: number, edge?: number) => {
  await page.locator("input[type=file]").setInputFiles(await drawn(page, count, edge));
};
const arrived = (page: Page) => page.getByText(/^Arrived/);
const summary = (page: Page) => page.getByRole("region", { name: "Summary" });

test("pictures, a word and a press: some seconds later there is a model to make pictures with", async ({
  page,
  as,
}) => {
  test.slow();
  await as("mira");
  await page.goto("/training");
  await page.getByRole("link", { name: "Train a model" }).click();
  await expect(summary(page)).toContainText("Time and price are shown once three pictures are here.");
  await choose(page, 4);
  await expect(arrived(page)).toHaveCount(4);
  await page.getByLabel("What the pictures show").fill("paper lantern");
  await page.getByLabel("Name of the model").fill("lanterns-v1");
  await expect(page.getByText("“a photo of sks paper lantern”")).toBeVisible();
  await expect(summary(page)).toContainText("4090-small-4-1");
  await accessible(page);
  await page.getByRole("radio", { name: "Urgent" }).check();
  await expect(page.getByText("starts at once")).toBeVisible();
  await summary(page)
    .getByRole("button", { name: /^Train · \$/ })
    .click();
  await expect(page).toHaveURL(/\/training\/job_/);
  await expect(page.getByRole("heading", { level: 1, name: "lanterns-v1" })).toBeVisible();
  const bar = page.getByRole("progressbar", { name: "Progress of lanterns-v1" });
  await expect(bar).toHaveAttribute("aria-valuetext", /^Step [1-9]\d* of 400/);
  await expect(page.getByText("Losses are known when the training is done")).toBeVisible();
  await expect(page.getByRole("link", { name: "Make pictures with it" })).toBeVisible({ timeout: 20_000 });
  await expect(page.getByRole("img", { name: /^Loss at step 400, newest: / })).toBeVisible();
  await expect(page.getByRole("img", { name: /^A picture that the training has made/ })).toBeVisible();
  await accessible(page);
  await page.getByRole("link", { name: "lanterns-v1" }).click();
  await expect(page.getByText(/^LoRA adapter of sd-1\.5/)).toBeVisible();
  const make = page.getByRole("link", { name: "Make pictures with it" });
  await make.click();
  await expect(page).toHaveURL(/\/jobs\/new\?model=mdl_/);
  await expect(page.getByRole("combobox", { name: "Checkpoint" })).toContainText("sd-1.5");
  await expect(page.getByRole("combobox", { name: "Adapter" })).toContainText("lanterns-v1");
  await page.goto("/models");
  await expect(page.getByText("7 models of the studio")).toBeVisible();
});

test("a picture is sent with its progress, and can be stopped", async ({ page, as }) => {
  await as("mira");
  await page.goto("/training/new");
  const devtools = await page.context().newCDPSession(page);
  const [picture] = await drawn(page, 1);
  if (!picture) throw new Error("nothing was drawn");
  await devtools.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput: 40_000,
  });
  const buffer = Buffer.concat([picture.buffer, Buffer.alloc(900_000, 7)]);
  await page.locator("input[type=file]").setInputFiles({ ...picture, buffer });
  const bar = page.getByRole("progressbar", { name: "Sending lantern-1.png" });
  await expect(bar).toHaveAttribute("aria-valuenow", /^[1-9]\d+$/);
  await page.getByLabel("What the pictures show").fill("lantern");
  await expect(summary(page).getByRole("button", { name: "Train" })).toHaveAccessibleDescription(
    "Wait until the pictures have arrived.",
  );
  await page.getByRole("button", { name: "Stop sending lantern-1.png" }).click();
  await expect(bar).toBeHidden();
  await expect(page.getByText("0 pictures; 3 to 5 are needed")).toBeVisible();
});

test.describe("a line that is cut", () => {
  test.use({ expected: [0] });

  test("is said at its picture, and the picture is sent again", async ({ page, as }) => {
    await as("mira");
    await page.goto("/training/new");
    let sent = 0;
    await page.route("**/mock/objects/**", (route) => (++sent === 2 ? route.abort() : route.continue()));
    await choose(page, 3);
    await expect(arrived(page)).toHaveCount(2);
    await expect(page.getByRole("alert")).toContainText("The connection was lost.");
    await expect(summary(page).getByRole("button", { name: "Train" })).toHaveAccessibleDescription(
      "A picture has not arrived. Send it again, or take it away.",
    );
    await accessible(page);
    await page.getByRole("button", { name: /^Send again: lantern-\d\.png$/ }).click();
    await expect(arrived(page)).toHaveCount(3);
    expect(sent).toBe(4);
    await expect(summary(page).getByRole("button", { name: /^Train · \$/ })).toBeVisible();
  });
});

test("files that cannot be used are refused before anything is sent", async ({ page, as }) => {
  await as("mira");
  await page.goto("/training/new");
  let asked = 0;
  await page.route("**/v1/uploads", (route) => {
    asked++;
    return route.continue();
  });
  const [picture] = await drawn(page, 1);
  const file = (name: string, mimeType: string, buffer: Buffer) => ({ name, mimeType, buffer });
  await page
    .locator("input[type=file]")
    .setInputFiles([
      file("scan.gif", "image/gif", Buffer.from("GIF89a")),
      file("broken.png", "image/png", Buffer.from("no picture")),
      file("one.png", "image/png", picture?.buffer ?? Buffer.of()),
      file("copy.png", "image/png", picture?.buffer ?? Buffer.of()),
    ]);
  await expect(page.getByText("Only PNG and JPEG can be used.")).toBeVisible();
  await expect(page.getByText("It cannot be read as a picture.")).toBeVisible();
  await expect(page.getByText("The same picture is here already.")).toBeVisible();
  await expect(arrived(page)).toHaveCount(1);
  expect(asked).toBe(1);
});

test.describe("refusals", () => {
  test.use({ expected: [409, 422] });

  test("what is missing or refused stands at its field, and pictures stay", async ({ page, as, provoke }) => {
    await as("mira");
    await page.goto("/training/new");
    await summary(page).getByRole("button", { name: "Train" }).click();
    await expect(page.getByText("Choose 3 to 5 pictures.")).toBeVisible();
    await expect(page.getByLabel("What the pictures show")).toHaveAccessibleDescription(
      /Write what they show/,
    );
    await choose(page, 3);
    await expect(arrived(page)).toHaveCount(3);
    await expect(page.getByText("Choose 3 to 5 pictures.")).toBeHidden();
    await page.getByLabel("What the pictures show").fill("lantern");
    const limit = page.getByLabel("Stop at");
    await limit.fill("0.01");
    const press = summary(page).getByRole("button", { name: /^Train · / });
    await press.click();
    await expect(limit).toHaveAccessibleDescription(/^Half of such jobs cost \$0\.0\d+ or more\./);
    await expect(limit).toBeFocused();
    await limit.fill("");
    await provoke({ operation: "createJob", slug: "too-many-jobs" });
    await press.click();
    await expect(summary(page).getByRole("alert")).toContainText("the maximum number of open jobs");
    await expect(arrived(page)).toHaveCount(3);
    await press.click();
    await expect(page).toHaveURL(/\/training\/job_/);
  });
});

test("one that waits says why and is made urgent; one that runs is stopped with its price", async ({
  page,
  as,
}) => {
  await as("mira");
  await page.goto("/training?state=queued");
  await page.getByRole("row").getByRole("link").first().click();
  await expect(page.getByText("All workers that fit are busy.")).toBeVisible();
  await page.getByRole("button", { name: /^Make it urgent · about \$0\.\d\d$/ }).click();
  await expect(page.getByRole("progressbar")).toBeVisible();
  await page.goto("/training?state=running");
  await page.getByRole("row").getByRole("link").last().click();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  const dialog = page.getByRole("alertdialog", { name: "Stop this training?" });
  await expect(dialog.getByText(/^Its work until now is charged: \$0\.\d\d\.$/)).toBeVisible();
  await accessible(page);
  await dialog.getByRole("button", { name: "Stop it" }).click();
  await expect(page.getByRole("status").filter({ hasText: "Cancelled" }).first()).toBeVisible();
  await expect(page.getByText(/^Stopped at step [\d,]+ of 3,000\. It has cost \$0/)).toBeVisible();
});

test("what others start is seen without a reload; states are filtered by the address", async ({
  page,
  as,
}) => {
  await as("mira");
  await page.goto("/training");
  await expect(page.getByText("1 running, 1 waiting. 4 models from 9 trainings shown.")).toBeVisible();
  const waiting = (await (await page.request.get("/v1/jobs?kind=training&state=queued")).json()).items[0];
  await page.request.post(`/v1/jobs/${waiting.id}/cancel`);
  await expect(page.getByText("1 running, 0 waiting.")).toBeVisible();
  await page.getByRole("link", { name: "Failed", exact: true }).click();
  await expect(page).toHaveURL("/training?state=failed");
  await expect(page.getByText("It has reached its cost limit.")).toBeVisible();
  await expect(page.getByRole("row")).toHaveCount(3);
});

test("a viewer sees reasons and cannot send pictures; a new studio is told how to begin", async ({
  page,
  as,
}) => {
  await as("jonas");
  await page.goto("/training/new");
  await expect(page.locator("input[type=file]")).toBeDisabled();
  await expect(summary(page).getByRole("button", { name: "Train" })).toHaveAccessibleDescription(/^Viewers/);
  await page.request.post("/mock/change", { data: { empty: true } });
  await page.goto("/training");
  await expect(page.getByText("Nothing trained yet")).toBeVisible();
  await accessible(page);
  await page.setViewportSize({ width: 390, height: 780 });
  await page.goto("/training/new");
  await fits(page);
});

test("a training has one page, which fits beside the sidebar and on a phone", async ({ page, as }) => {
  await as("mira");
  const trainings = await page.request.get("/v1/jobs?kind=training&state=succeeded");
  const { id } = (await trainings.json()).items[0];
  await page.goto(`/jobs/${id}`);
  await expect(page).toHaveURL(`/training/${id}`);
  await expect(page.getByRole("heading", { level: 1, name: "gouache-v4" })).toBeVisible();
  for (const width of [1024, 390]) {
    await page.setViewportSize({ width, height: 780 });
    await expect(page.getByRole("img", { name: /^Loss at step 2,000/ })).toBeVisible();
    await fits(page);
  }
  const pictures = await page.request.get("/v1/jobs?kind=generation&state=succeeded");
  const other = (await pictures.json()).items[0].id;
  await page.goto(`/training/${other}`);
  await expect(page).toHaveURL(`/jobs/${other}`);
});
