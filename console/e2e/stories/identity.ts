import { createHmac } from "node:crypto";
import { expect, test } from "@playwright/test";
import { accessible, addAuthenticator } from "../fixtures";
import { administrator, post, read, run, signIn } from "../platform";

const password = "a longer password";
const owner = { email: `owner-${run}@studio.test`, name: "Olga Owner" };
const guest = { email: `guest-${run}@studio.test`, name: "Gil Guest" };
const studio = `Studio ${run}`;

/** The six digits of an authenticator app now (RFC 6238). */
function codeOf(secret: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = [...secret].map((it) => alphabet.indexOf(it).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((it) => Number.parseInt(it, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const hash = createHmac("sha1", key).update(counter).digest();
  const offset = (hash.at(-1) ?? 0) & 15;
  return String((hash.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

test.describe.configure({ mode: "serial" });

test("an administrator makes a studio and its people", async ({ page }) => {
  await signIn(page, administrator);
  const tenant = await post(page, "/v1/tenants", { name: studio });
  for (const { email, name } of [owner, guest])
    await post(page, "/v1/users", { email, display_name: name, password });
  const users = await page.evaluate(
    async (prefix) => (await fetch(`/v1/users?email_prefix=${encodeURIComponent(prefix)}`)).json(),
    owner.email,
  );
  await post(page, `/v1/tenants/${tenant.id}/members`, { user_id: users.items[0].id, role: "owner" });
  await page.getByRole("button", { name: /admin@/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await expect(page.getByText("You are signed out.")).toBeVisible();
});

test("an owner invites; the guest accepts, and is out again without a reload", async ({ page, browser }) => {
  await signIn(page, { ...owner, password });
  await page.goto("/members");
  await page.getByRole("button", { name: "Invite a person" }).click();
  await page.getByRole("dialog").getByLabel("E-mail").fill(guest.email);
  await page.keyboard.press("Enter");
  await expect(page.getByText(`${guest.email} is invited`)).toBeVisible();

  const other = await browser.newContext();
  const theirs = await other.newPage();
  await signIn(theirs, { ...guest, password });
  await theirs.getByRole("button", { name: "Accept" }).click();
  await expect(theirs.getByRole("button", { name: new RegExp(`${studio} member`) })).toBeVisible();

  await page.reload();
  await page.getByRole("combobox", { name: `Role of ${guest.name}` }).click();
  await page.getByRole("option", { name: /Viewer/ }).click();
  await expect(page.getByText(`${guest.name} is now viewer`)).toBeVisible();
  await theirs.goto("/members");
  await expect(theirs.getByRole("button", { name: new RegExp(`${studio} viewer`) })).toBeVisible();
  await theirs.getByRole("button", { name: `Actions for ${guest.name}` }).click();
  await theirs.getByRole("menuitem", { name: "Leave…" }).click();
  await theirs.getByRole("alertdialog").getByRole("button", { name: "Leave" }).click();
  await expect(theirs.getByText("No studio")).toBeVisible();
  await other.close();
});

test("the page of a removed member ends within a second", async ({ page, browser }) => {
  await signIn(page, { ...owner, password });
  const { tenant_id } = await read(page, "/v1/me");
  await post(page, `/v1/tenants/${tenant_id}/invitations`, { email: guest.email, role: "member" });
  const other = await browser.newContext();
  const theirs = await other.newPage();
  await signIn(theirs, { ...guest, password });
  await theirs.getByRole("button", { name: "Accept" }).click();
  await expect(theirs.getByRole("button", { name: new RegExp(`${studio} member`) })).toBeVisible();
  await theirs.goto("/instances");
  await expect(theirs.getByText("Live", { exact: true })).toBeVisible();
  await page.goto("/members");
  await page.getByRole("button", { name: `Actions for ${guest.name}` }).click();
  await page.getByRole("menuitem", { name: "Remove…" }).click();
  const removed = page.waitForResponse((it) => it.request().method() === "DELETE");
  await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click();
  await removed;
  await expect(theirs.getByText("No studio")).toBeVisible({ timeout: 1000 });
  await other.close();
});

test("name, language, password, second factor, passkey, sessions, key", async ({ page }) => {
  await addAuthenticator(page);
  await signIn(page, { ...owner, password });
  await page.goto("/account");
  await page.getByRole("button", { name: "Change" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("Olga Ostrova");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("button", { name: /Olga Ostrova/ })).toBeVisible();
  await page.getByRole("combobox", { name: "Language" }).click();
  await page.getByRole("option", { name: "简体中文" }).click();
  await expect(page.getByRole("heading", { name: "账户" })).toBeVisible();
  await page.getByRole("combobox", { name: "语言" }).click();
  await page.getByRole("option", { name: "English" }).click();
  await expect(page.getByRole("heading", { name: "Account" })).toBeVisible();

  await page.goto("/account/sign-in");
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("Test key");
  await page.keyboard.press("Enter");
  await expect(page.getByText("The passkey “Test key” is added")).toBeVisible();
  await page.getByRole("button", { name: "Set up" }).click();
  await expect(page.getByRole("img", { name: "QR code for the authenticator app" })).toBeVisible();
  await accessible(page);
  await page.keyboard.press("Escape");

  await page.goto("/account/sessions");
  await expect(page.getByText("This one")).toHaveCount(1);
  await page.getByRole("button", { name: "End all others" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "End all others" }).click();
  await expect(page.getByText("1 session is open.")).toBeVisible();

  await page.goto("/api-keys?open=create");
  await page.getByRole("dialog").getByLabel("Name").fill("nightly");
  await page.keyboard.press("Enter");
  await expect(
    page.getByRole("dialog", { name: "The key “nightly”" }).getByText(/^atl_\w{38}$/),
  ).toBeVisible();
  await page.getByRole("button", { name: "Done" }).click();

  await page.getByRole("button", { name: /Olga Ostrova/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await expect(page.getByRole("button", { name: new RegExp(`${studio} owner`) })).toBeVisible();
});

test("the second factor is set up, and asked for", async ({ page }) => {
  await signIn(page, { ...guest, password });
  await page.goto("/account/sign-in");
  await page.getByRole("button", { name: "Set up" }).click();
  const shown = page.getByRole("dialog").locator("code");
  // its place is there before the answer is
  await expect(shown).toHaveText(/^[A-Z2-7]{32}$/);
  const secret = await shown.innerText();
  const code = page.getByRole("textbox", { name: "Code" });
  await code.fill("000000");
  await code.press("Enter");
  await expect(code).toHaveAttribute("aria-invalid", "true");
  await code.fill(codeOf(secret));
  await code.press("Enter");
  const codes = page.getByRole("dialog", { name: "Keep your recovery codes" });
  const recovery = await codes.getByRole("listitem").first().innerText();
  await page.getByRole("button", { name: "I have kept them" }).click();
  await page.getByRole("button", { name: /Gil Guest/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByLabel("E-mail").fill(guest.email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.keyboard.press("Enter");
  await code.fill("000000");
  await code.press("Enter");
  await expect(page.getByText("This code is wrong or too old.")).toBeVisible();
  await page.getByRole("button", { name: "Use a recovery code" }).click();
  const spare = page.getByRole("textbox", { name: "Recovery code" });
  await spare.fill(recovery);
  await spare.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: "Invitations" })).toBeVisible();
});
