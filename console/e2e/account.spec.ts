import { accessible, addAuthenticator, expect, test } from "./fixtures";

test("the second factor: scan, prove, keep, remove", async ({ page, as }) => {
  await as("mira");
  await page.goto("/account/sign-in");
  await page.getByRole("button", { name: "Set up" }).click();
  await expect(page.getByRole("img", { name: "QR code for the authenticator app" })).toBeVisible();
  await expect(page.getByText("JBSWY3DPEHPK3PXPKRSXG5A7")).toBeVisible();
  await accessible(page);
  await page.getByRole("textbox", { name: "Code" }).fill("123 456");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog", { name: "Keep your recovery codes" })).toContainText("7h2k-9qpl");
  await accessible(page);
  await page.getByRole("button", { name: "I have kept them" }).click();
  await expect(page.getByText("10 recovery codes are left.")).toBeVisible();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByRole("textbox", { name: "Code" }).fill("123456");
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect(page.getByText(/whoever knows your password can sign in/)).toBeVisible();
});

test.describe("wrong", () => {
  test.use({ expected: [401, 422] });

  test("the current password is checked at its field", async ({ page, as }) => {
    await as("mira");
    await page.goto("/account/sign-in");
    await page.getByRole("button", { name: "Change" }).click();
    const dialog = page.getByRole("dialog", { name: "Change password" });
    await dialog.getByLabel("Current password").fill("wrong");
    await dialog.getByLabel("New password").fill("short");
    await page.keyboard.press("Enter");
    await expect(dialog.getByLabel("New password")).toHaveAccessibleDescription("Use at least 8 characters.");
    await dialog.getByLabel("New password").fill("a longer one");
    await page.keyboard.press("Enter");
    await expect(dialog.getByLabel("Current password")).toHaveAccessibleDescription(
      "This is not your current password.",
    );
    await accessible(page);
    await dialog.getByLabel("Current password").fill("northlight");
    await page.keyboard.press("Enter");
    await expect(page.getByText("Your password is changed")).toBeVisible();
    await page.goto("/account/sessions");
    await expect(page.getByText("1 session is open.")).toBeVisible();
  });

  test("a wrong code stands at the field", async ({ page, as }) => {
    await as("mira");
    await page.goto("/account/sign-in");
    await page.getByRole("button", { name: "Set up" }).click();
    await page.getByRole("textbox", { name: "Code" }).fill("999999");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("textbox", { name: "Code" })).toHaveAccessibleDescription(
      "The code is wrong.",
    );
  });
});

test("sessions: this one is marked, others end one by one or together", async ({ page, as }) => {
  await as("mira");
  await page.goto("/account/sessions");
  await expect(page.getByText("3 sessions are open.")).toBeVisible();
  await expect(page.getByText("This one")).toHaveCount(1);
  await page.getByRole("button", { name: "End the session of Safari on iPhone" }).click();
  await expect(page.getByText("2 sessions are open.")).toBeVisible();
  await page.getByRole("button", { name: "End all others" }).click();
  await accessible(page);
  await page.getByRole("alertdialog").getByRole("button", { name: "End all others" }).click();
  await expect(page.getByText("1 session is open.")).toBeVisible();
  await expect(page.getByRole("button", { name: "End all others" })).toHaveAccessibleDescription(
    "There are no other sessions.",
  );
});

test("passkeys are renamed and deleted", async ({ page, as }) => {
  await as("mira");
  await page.goto("/account/sign-in");
  await page.getByRole("button", { name: "Actions for the passkey MacBook" }).click();
  await page.getByRole("menuitem", { name: "Rename…" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("Desk");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Actions for the passkey Desk" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByText("YubiKey, blue")).toBeVisible();
  await expect(page.getByText("Desk", { exact: true })).toHaveCount(0);
});

test("a passkey is added", async ({ page, as }) => {
  await addAuthenticator(page);
  await as("mira");
  await page.goto("/account/sign-in");
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("Test key");
  await page.keyboard.press("Enter");
  await expect(page.getByText("The passkey “Test key” is added")).toBeVisible();
});

test("accounts are unlinked and linked", async ({ page, as }) => {
  await as("mira");
  await page.goto("/account/sign-in");
  await page.getByRole("button", { name: "Unlink" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Unlink" }).click();
  await expect(page.getByText("Not linked")).toBeVisible();
  await page.getByRole("button", { name: "Link", exact: true }).click();
  await expect(page.getByRole("button", { name: "Unlink" })).toBeVisible();
});
