import { accessible, expect, test } from "./fixtures";

test.describe("visitors", () => {
  test.use({ expected: [401] });

  test("a visitor reads prices, estimates a month, and signs in", async ({ page }) => {
    await page.goto("/");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("GPUs for people who make pictures");
    await expect(page.getByText(/From \$0\.20\/h/)).toBeVisible();
    await accessible(page);
    await page.getByRole("link", { name: "See prices" }).click();
    await expect(page.getByRole("row").filter({ hasText: "4090-small-4-1" })).toContainText("$17.76");
    await accessible(page);
    await page.getByRole("link", { name: "Sign in" }).click();
    await page.getByLabel("E-mail").fill("mira@northlight.studio");
    await page.getByLabel("Password", { exact: true }).fill("northlight");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await expect(page).toHaveURL("/overview");
  });

  test("an estimate adds up, and its address gives the same", async ({ page }) => {
    await page.goto("/prices?gpu=4090-small-4-1&hours=8&days=22&storage=ssd&gib=100");
    await expect(page.getByRole("main").getByRole("status")).toHaveText("$133.24");
    await page.getByLabel("Hours a day").fill("25");
    await expect(page.getByLabel("Hours a day")).toHaveAccessibleDescription("From 0 to 24.");
    await page.getByLabel("Hours a day").fill("7,5");
    await expect(page.getByRole("main").getByRole("status")).toHaveText("$125.10");
    await expect(page).toHaveURL(/hours=7\.5/);
  });
});

test("an instance started elsewhere appears without a reload, and one press starts the last again", async ({
  page,
  as,
}) => {
  await as("mira");
  await page.goto("/overview");
  const running = page.getByRole("table", { name: "Running now" });
  await expect(running.getByRole("row").filter({ hasText: "character-sheets" })).toBeVisible();
  await expect(running.getByText("poster-march")).toBeHidden();
  const { items } = await (await page.request.get("/v1/instances")).json();
  const poster = items.find((it: { name: string }) => it.name === "poster-march");
  await page.request.post(`/v1/instances/${poster.id}/start`, {
    headers: { "idempotency-key": crypto.randomUUID() },
  });
  await expect(running.getByRole("link", { name: "poster-march", exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Start storyboard" }).click();
  await expect(running.getByRole("link", { name: "storyboard", exact: true })).toBeVisible();
  await accessible(page);
});

test("a viewer sees why nothing can be pressed", async ({ page, as }) => {
  await as("jonas");
  await page.goto("/overview");
  await expect(page.getByRole("button", { name: "Start storyboard" })).toHaveAttribute(
    "aria-disabled",
    "true",
  );
  await page.goto("/activity");
  await expect(page.getByText("Ask an owner of the studio.")).toBeVisible();
});

test("a studio that has nothing is led through its first steps", async ({ page, as }) => {
  await as("mira");
  await page.request.post("/mock/change", { data: { empty: true } });
  await page.goto("/overview");
  await expect(page.getByRole("heading", { name: "First steps" })).toBeVisible();
  await accessible(page);
  await page.getByRole("link", { name: "Invite a person" }).click();
  await expect(page.getByRole("dialog", { name: "Invite a person" })).toBeVisible();
});

test("activity is filtered in the address, unfolded by keyboard, and goes on", async ({ page, as }) => {
  await as("mira");
  await page.goto("/activity");
  await page.getByRole("navigation", { name: "Kind" }).getByRole("link", { name: "Storages" }).click();
  await expect(page).toHaveURL("/activity?area=storages");
  const unfold = page.getByRole("button", { name: /All that is recorded/ }).first();
  await unfold.focus();
  await page.keyboard.press("Enter");
  await expect(unfold).toHaveAttribute("aria-expanded", "true");
  await expect(page.getByRole("button", { name: "Copy request_id" })).toBeVisible();
  await accessible(page);
  await page.goto("/activity");
  const entries = page.getByRole("list", { name: "Activity" }).getByRole("listitem");
  await expect(entries).toHaveCount(50);
  await page.getByRole("button", { name: "Show earlier ones" }).click();
  await expect(entries).toHaveCount(100);
});
