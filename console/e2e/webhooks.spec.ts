import type { Page } from "@playwright/test";
import { accessible, choose, expect, fits, test } from "./fixtures";

const answers = (page: Page, host: string, status: number) =>
  page.request.post("/mock/change", { data: { endpoints: { [host]: status } } });

test("a webhook: added, its secret shown once, a test that fails, then one that works", async ({
  page,
  as,
}) => {
  await as("tomas");
  await page.goto("/webhooks");
  await expect(page.getByText("5 endpoints: 1 works, 1 fails, and 3 are off.")).toBeVisible();
  await page.getByRole("button", { name: "Add a webhook" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a webhook" });
  await page.keyboard.press("Enter");
  await expect(dialog.getByLabel("Address")).toHaveAccessibleDescription("Enter an address.");
  await dialog.getByLabel("Address").fill("https://hooks.studio.example/atelier");
  await choose(dialog, "Chosen ones");
  await expect(dialog.getByRole("checkbox", { name: /job\.succeeded/ })).toBeChecked();
  await accessible(page);
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  const shown = page.getByRole("dialog", { name: "The webhook is added" });
  await expect(shown.getByText(/^whsec_/)).toBeVisible();
  await choose(shown, "curl");
  await expect(shown.getByText(/openssl dgst -sha256/)).toBeVisible();
  await accessible(page);
  await answers(page, "hooks.studio.example", 500);
  await shown.getByRole("button", { name: "Done" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "hooks.studio.example/atelier" })).toBeVisible();
  await expect(page.getByText(/^whsec_/)).toBeHidden();
  await expect(page.getByText("Nothing was sent yet")).toBeVisible();

  await page.getByRole("button", { name: "Send a test" }).click();
  await expect(page.getByRole("status").filter({ hasText: "The test was not accepted" })).toContainText(
    "answered 500",
  );
  const deliveries = page.getByRole("table", { name: "Deliveries" });
  await expect(deliveries.getByRole("row", { name: /webhook\.test/ })).toContainText("Failed");
  await expect(deliveries.getByText('"type": "webhook.test"')).toBeVisible();
  await expect(page.getByText(/The endpoint has not accepted anything since/)).toBeVisible();
  await accessible(page);
  await page.reload();
  await expect(deliveries.getByText('"type": "webhook.test"')).toBeVisible();

  await answers(page, "hooks.studio.example", 204);
  await page.getByRole("button", { name: "Send a test" }).click();
  await expect(page.getByRole("status").filter({ hasText: "accepted the test with 204" })).toBeVisible();
  await expect(page.getByText(/The endpoint has not accepted anything since/)).toBeHidden();
  await expect(deliveries.getByRole("row", { name: /webhook\.test/ })).toHaveCount(2);
});

test.describe("refusals", () => {
  test.use({ expected: [409, 422] });

  test("an address that the platform does not send to is refused at its field, and nothing is lost", async ({
    page,
    as,
  }) => {
    await as("mira");
    await page.goto("/webhooks?open=create");
    const url = page.getByRole("dialog").getByLabel("Address");
    await url.fill("http://example.com/hook");
    await page.keyboard.press("Enter");
    await expect(url).toHaveAccessibleDescription("The address must begin with https://.");
    await choose(page, "Chosen ones");
    await page.getByRole("checkbox", { name: /job\.expired/ }).check();
    await url.fill("https://10.1.2.3/hook");
    await url.press("Enter");
    await expect(url).toHaveAccessibleDescription(/private network/);
    await expect(url).toBeFocused();
    await expect(url).toHaveValue("https://10.1.2.3/hook");
    await expect(page.getByRole("checkbox", { name: /job\.expired/ })).toBeChecked();
    await accessible(page);
  });

  test("a limit is said in the dialog", async ({ page, as, provoke }) => {
    await as("mira");
    await provoke({ operation: "createWebhook", slug: "too-many-webhooks" });
    await page.goto("/webhooks?open=create");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Address").fill("https://example.com/hook");
    await page.keyboard.press("Enter");
    await expect(dialog.getByRole("alert")).toContainText("the maximum number of webhooks");
  });
});

test("one whose maker has left is taken over, and works again", async ({ page, as }) => {
  await as("mira");
  await page.goto("/webhooks");
  await page.getByRole("link", { name: /assets\.northlight\.studio/ }).click();
  await expect(page.getByText("a former member")).toBeVisible();
  await page.getByRole("button", { name: "Take over…" }).click();
  const question = page.getByRole("alertdialog", { name: "Take this webhook over?" });
  await expect(question).toContainText("It is switched on again.");
  await accessible(page);
  await question.getByRole("button", { name: "Take over" }).click();
  await expect(page.getByText("You have taken the webhook over")).toBeVisible();
  await expect(page.getByText("a former member")).toBeHidden();
  await expect(page.getByText("Its maker may not write in this studio any more")).toBeHidden();
});

test.describe("of jobs that were deleted", () => {
  test.use({ expected: [404] });

  test("deliveries: filtered in the address, unfolded to their attempts and message", async ({
    page,
    as,
  }) => {
    await as("jonas");
    await page.goto("/webhooks");
    await page.getByRole("link", { name: /chat\.northlight\.studio/ }).click();
    await page.getByRole("combobox", { name: "State" }).click();
    await page.getByRole("option", { name: "Waits" }).click();
    await expect(page).toHaveURL(/state=pending/);
    const deliveries = page.getByRole("table", { name: "Deliveries" });
    await expect(deliveries.getByRole("button")).toHaveCount(2);
    await deliveries.getByRole("button", { name: /job\.failed/ }).focus();
    await page.keyboard.press("Enter");
    await expect(deliveries.getByRole("list", { name: "Attempts" }).getByRole("listitem")).toHaveCount(4);
    await expect(deliveries.getByText(/The job does not exist any more/).first()).toBeVisible();
    await expect(deliveries.getByRole("button", { name: /job\.failed/ })).toBeFocused();
    await accessible(page);
    await page.setViewportSize({ width: 390, height: 780 });
    await fits(page);
    await accessible(page);
  });
});

test("a new secret keeps the old one for a day; a deleted webhook is gone", async ({ page, as }) => {
  await as("mira");
  await page.goto("/webhooks");
  const menu = page.getByRole("button", { name: "Actions for lab.northlight.studio/preview?token=draft" });
  await menu.click();
  await page.getByRole("menuitem", { name: "New secret…" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Make a new one" }).click();
  const shown = page.getByRole("dialog", { name: "The new secret" });
  await expect(shown.getByText(/messages have a signature of the previous secret, too/)).toBeVisible();
  await shown.getByRole("button", { name: "Done" }).click();
  await menu.click();
  await page.getByRole("menuitem", { name: "Switch on" }).click();
  await expect(page.getByText("The webhook is on")).toBeVisible();
  await menu.click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await accessible(page);
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByText("4 endpoints")).toBeVisible();
  await expect(page.getByRole("link", { name: /lab\.northlight/ })).toBeHidden();
});

test("a viewer sees everything, and why nothing can be pressed", async ({ page, as }) => {
  await as("jonas");
  await page.goto("/webhooks?open=create");
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(page.getByRole("button", { name: "Add a webhook" })).toHaveAccessibleDescription(
    /Viewers cannot/,
  );
  await page.getByRole("button", { name: /Actions for assets/ }).click();
  await expect(page.getByRole("menuitem", { name: /Take over/ })).toContainText("Only owners");
  await expect(page.getByRole("menuitem", { name: /Delete/ })).toContainText("Viewers cannot");
  await accessible(page);
});
