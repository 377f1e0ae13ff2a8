import type { Page } from "@playwright/test";
import { accessible, addAuthenticator, expect, test } from "./fixtures";

async function fill(page: Page, email: string, password = "northlight") {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

test.describe("refusals", () => {
  test.use({ expected: [401, 403, 429] });

  test("whoever is not signed in comes back to the page they wanted", async ({ page }) => {
    await page.goto("/api-keys?open=create");
    await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
    await fill(page, "mira@northlight.studio");
    await expect(page.getByRole("dialog", { name: "Create a key" })).toBeVisible();
    await expect(page).toHaveURL("/api-keys?open=create");
  });

  test("only paths of ours are returned to", async ({ page }) => {
    for (const elsewhere of [
      "https://evil.example/",
      "//evil.example/",
      "/\\evil.example",
      "javascript:alert(1)",
    ]) {
      await page.context().clearCookies({ name: "__Host-atelier_session" });
      await page.goto(`/sign-in?return_to=${encodeURIComponent(elsewhere)}`);
      await fill(page, "mira@northlight.studio");
      await expect(page).toHaveURL("/overview");
    }
  });

  test("a wrong password says so, and goes on", async ({ page }) => {
    await page.goto("/sign-in");
    await fill(page, "mira@northlight.studio", "wrong");
    await expect(page.getByRole("alert")).toContainText("The e-mail address or the password is wrong.");
    await accessible(page);
    await fill(page, "mira@northlight.studio");
    await expect(page.getByRole("heading", { name: "Overview", level: 1 })).toBeVisible();
  });

  test("a locked account counts the seconds, and refuses until then", async ({ page, provoke }) => {
    await provoke({ operation: "createSession", slug: "too-many-attempts", retryAfter: 3 });
    await page.goto("/sign-in");
    await fill(page, "mira@northlight.studio");
    await expect(page.getByRole("alert")).toContainText(/You can try again in [123] s\./);
    const submit = page.getByRole("button", { name: "Sign in", exact: true });
    await expect(submit).toHaveAttribute("aria-disabled", "true");
    await expect(submit).toHaveAccessibleDescription("Wait until the time is over.");
    await accessible(page);
    await expect(submit).not.toHaveAttribute("aria-disabled", "true");
    await submit.click();
    await expect(page.getByRole("heading", { name: "Overview", level: 1 })).toBeVisible();
  });

  test("a disabled account is told whom to ask", async ({ page }) => {
    await page.goto("/sign-in");
    await fill(page, "paul@northlight.studio");
    await expect(page.getByRole("alert")).toContainText("This account is disabled.");
    await expect(page.getByRole("button", { name: "Copy the request id" })).toBeVisible();
  });

  test("the second factor: wrong, recovery, right", async ({ page }) => {
    await page.goto("/sign-in");
    await fill(page, "tomas@northlight.studio");
    const code = page.getByRole("textbox", { name: "Code" });
    await expect(code).toBeFocused();
    await accessible(page);
    await code.fill("000000");
    await page.keyboard.press("Enter");
    await expect(page.getByText("This code is wrong or too old.")).toBeVisible();
    await page.getByRole("button", { name: "Use a recovery code" }).click();
    await page.getByRole("textbox", { name: "Recovery code" }).fill("7h2k-9qpl");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("heading", { name: "Overview", level: 1 })).toBeVisible();
  });

  test("what the provider refused is said after the way back", async ({ page }) => {
    await page.goto("/?sign_in_error=no-account");
    await expect(page.getByRole("alert")).toContainText("There is no account for the address");
  });
});

test("empty fields say what is missing, at the first of them", async ({ page }) => {
  await page.goto("/sign-in");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(page.getByLabel("E-mail")).toBeFocused();
  await expect(page.getByLabel("E-mail")).toHaveAccessibleDescription("Enter your e-mail address.");
  await expect(page.getByText("Enter your password.")).toBeVisible();
});

test("a provider is a link that comes back", async ({ page }) => {
  await page.goto("/sign-in?return_to=%2Fapi-keys");
  await expect(page.getByRole("link", { name: "Continue with Northlight SSO" })).toHaveAttribute(
    "href",
    "/v1/sign-in/studio?return_to=%2Fapi-keys",
  );
});

test("a passkey signs in, and a closed window says what to do", async ({ page }) => {
  const { devtools, authenticatorId } = await addAuthenticator(page);
  const key = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign"]);
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey("pkcs8", key.privateKey)).toString("base64");
  await devtools.send("WebAuthn.addCredential", {
    authenticatorId,
    credential: {
      credentialId: Buffer.from("mira").toString("base64"),
      isResidentCredential: true,
      rpId: "localhost",
      privateKey: pkcs8,
      userHandle: Buffer.from("mira").toString("base64"),
      signCount: 1,
    },
  });
  await page.goto("/sign-in");
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await expect(page.getByRole("heading", { name: "Overview", level: 1 })).toBeVisible();
});

test("language and theme change at once, and stay", async ({ page }) => {
  await page.goto("/sign-in");
  await page.getByRole("combobox", { name: "Language" }).click();
  await page.getByRole("option", { name: "简体中文" }).click();
  await expect(page.getByRole("heading", { name: "登录" })).toBeVisible();
  await page.getByRole("combobox", { name: "主题" }).click();
  await page.getByRole("option", { name: "深色" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.reload();
  await expect(page.getByRole("heading", { name: "登录" })).toBeVisible();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});
