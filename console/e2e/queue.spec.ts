import { accessible, choose, expect, fits, test } from "./fixtures";

test("a credential: created, its password and connection shown once, deleted", async ({ page, as }) => {
  await as("tomas");
  await page.goto("/message-queue");
  await expect(page.getByText("3 credentials. 7 messages were refused in the last 30 days.")).toBeVisible();
  await page.getByRole("button", { name: "Create a credential" }).click();
  const dialog = page.getByRole("dialog", { name: "Create a credential" });
  await page.keyboard.press("Enter");
  await expect(dialog.getByLabel("Name")).toHaveAccessibleDescription("Enter a name.");
  await dialog.getByLabel("Name").fill("night render");
  await page.keyboard.press("Enter");
  const shown = page.getByRole("dialog", { name: "The credential “night render”" });
  await expect(shown.getByText(/^amq_[0-9a-f]{64}$/)).toBeVisible();
  await expect(
    shown.getByText(/^amqps:\/\/mqc_\w+:amq_[0-9a-f]{64}@mq\.atelier\.example:5671\/%2f$/),
  ).toBeVisible();
  await expect(shown.getByText(/import json, os, uuid, pika/)).toBeVisible();
  await choose(shown, "Node");
  await expect(shown.getByText(/createConfirmChannel/)).toBeVisible();
  await accessible(page);
  await shown.getByRole("button", { name: "Done" }).click();
  const row = page.getByRole("row", { name: /night render/ });
  await expect(row).toContainText("Tomas Reyl");
  await row.getByRole("button", { name: "Actions for night render" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await accessible(page);
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await expect(row).toBeHidden();
});

test("a refused message says why, unfolds, and is taken in again", async ({ page, as }) => {
  await as("mira");
  await page.goto("/message-queue");
  const refused = page.getByRole("table", { name: "Refused messages" });
  const missing = refused.getByRole("row", { name: /A file that it names does not exist/ });
  await expect(missing).toContainText("Upload the file, then take it in again.");
  await missing.getByRole("button", { name: /A file that it names/ }).click();
  await expect(page).toHaveURL(/message=/);
  await expect(missing.getByText('"prompt": "harbour at dawn, three boats, gouache"')).toBeVisible();
  await accessible(page);
  await missing.getByRole("button", { name: /^Take in again/ }).click();
  await expect(missing.getByRole("status").filter({ hasText: "A job was submitted." })).toBeVisible();
  await missing.getByRole("button", { name: /^Take in again/ }).click();
  await expect(missing.getByRole("status").filter({ hasText: "Its job was there already." })).toBeVisible();
  const late = refused.getByRole("row", { name: /Its deadline is over/ });
  await late.getByRole("button", { name: /^Take in again/ }).click();
  await expect(late.getByRole("status").filter({ hasText: "Refused again" })).toBeVisible();
  await expect(late).toHaveCount(2);
  const large = refused.getByRole("row", { name: /The message is too large/ });
  await expect(large.getByRole("button", { name: /^Take in again/ })).toHaveAccessibleDescription(
    /Only 64 KiB/,
  );
});

test("an owner takes a credential over; a member is told who can", async ({ page, as }) => {
  await as("mira");
  await page.goto("/message-queue");
  const row = page.getByRole("row", { name: /lighting lab/ });
  await expect(row).toContainText("Tomas Reyl");
  await row.getByRole("button", { name: "Actions for lighting lab" }).click();
  await page.getByRole("menuitem", { name: "Take over…" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Take over" }).click();
  await expect(row).toContainText("Mira Okafor");
  await as("tomas");
  await page.reload();
  await row.getByRole("button", { name: "Actions for lighting lab" }).click();
  await expect(page.getByRole("menuitem", { name: /Take over/ })).toContainText("Only owners");
});

test("a viewer reads it all, on a phone too", async ({ page, as }) => {
  await page.setViewportSize({ width: 390, height: 780 });
  await as("jonas");
  await page.goto("/message-queue?open=create");
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(page.getByRole("button", { name: "Create a credential" })).toHaveAccessibleDescription(
    /Viewers cannot/,
  );
  await page.getByRole("button", { name: /No application has this method/ }).click();
  await expect(page.getByText('no application has "stable-diffusion.txt2image"')).toBeVisible();
  await expect(page.getByRole("button", { name: /^Take in again/ }).first()).toHaveAccessibleDescription(
    /Viewers cannot/,
  );
  await accessible(page);
  await fits(page);
});

test.describe("refusals", () => {
  test.use({ expected: [409] });

  test("too many credentials is said in the dialog, and the name stays", async ({ page, as, provoke }) => {
    await as("mira");
    await provoke({ operation: "createMqCredential", slug: "too-many-mq-credentials" });
    await page.goto("/message-queue?open=create");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("one more");
    await page.keyboard.press("Enter");
    await expect(dialog.getByRole("alert")).toContainText("the maximum number of credentials");
    await expect(dialog.getByLabel("Name")).toHaveValue("one more");
  });
});
