import { accessible, expect, fits, test } from "./fixtures";

test("the palette goes to pages and does things, by keyboard alone", async ({ page, as }) => {
  await as("mira");
  await page.goto("/members");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("ControlOrMeta+k");
  const input = page.getByRole("combobox", { name: "Search and commands" });
  await expect(input).toBeFocused();
  await accessible(page);
  await input.fill("api keys");
  await expect(page.getByRole("option")).toHaveCount(1);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: "API keys" })).toBeVisible();
  await page.keyboard.press("/");
  await input.fill("dark");
  await page.keyboard.press("Enter");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.keyboard.press("ControlOrMeta+k");
  await input.fill("nothing of this name");
  await expect(page.getByText("Nothing is called that.")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(input).toBeHidden();
});

test("g and a letter goes, and the list of keys says so", async ({ page, as }) => {
  await as("mira");
  await page.goto("/members");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keyboard" })).toContainText("Go to API keys");
  await accessible(page);
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("k");
  await expect(page).toHaveURL("/api-keys");
  await expect(page.getByRole("main")).toBeFocused();
});

test.describe("a studio without a budget", () => {
  test.use({ expected: [404] });

  test("another studio, in all tabs", async ({ page, as, context }) => {
    await as("mira");
    await page.goto("/api-keys");
    const other = await context.newPage();
    await other.goto("/members");
    await page.getByRole("button", { name: /Northlight Studio/ }).click();
    await accessible(page);
    await page.getByRole("menuitem", { name: /Halden Games/ }).click();
    for (const tab of [page, other]) {
      await expect(tab.getByRole("button", { name: /Halden Games viewer/ })).toBeVisible();
      await expect(tab.getByText("halden-lookdev").first()).toBeVisible();
    }
  });
});

test("signing out ends all tabs", async ({ page, as, context }) => {
  await as("mira");
  await page.goto("/members");
  const other = await context.newPage();
  await other.goto("/account/sessions");
  await expect(other.getByText("This one")).toBeVisible();
  await page.getByRole("button", { name: /Mira Okafor mira@/ }).click();
  await accessible(page);
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  for (const tab of [page, other]) await expect(tab.getByText("You are signed out.")).toBeVisible();
});

test.describe("the line", () => {
  test.use({ expected: [0] });

  test("says when it is cut, and when it follows again", async ({ page, as }) => {
    await as("mira");
    await page.route("/v1/stream", (route) => route.abort());
    await page.goto("/members");
    await expect(page.getByText("Reconnecting…")).toBeVisible();
    await page.unroute("/v1/stream");
    await expect(page.getByText("Live", { exact: true })).toBeVisible();
  });
});

test("a service that does not answer is said, and when it answers again", async ({ page, as }) => {
  await as("mira");
  await page.goto("/members");
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  const notice = async (type: string) => {
    const data = { notice: { type, topics: ["jobs"] } };
    await page.request.post("/mock/change", { data });
  };
  await notice("stream.away");
  await expect(page.getByText("Reconnecting…")).toBeVisible();
  await notice("stream.back");
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
});

test.describe("a removed member", () => {
  test.use({ expected: [403] });

  test("is out of the studio without a reload", async ({ page, as, context, browser, baseURL }) => {
    await as("jonas");
    await page.goto("/members");
    await expect(page.getByText("Live", { exact: true })).toBeVisible();
    const owner = await browser.newContext({ baseURL: baseURL ?? "" });
    await owner.addCookies((await context.cookies()).filter((it) => it.name === "backend"));
    const data = { email: "mira@northlight.studio", password: "northlight", cookie: true };
    await owner.request.post("/v1/sessions", { data });
    const me = await (await owner.request.get("/v1/me")).json();
    const { items } = await (await owner.request.get(`/v1/tenants/${me.tenant_id}/members`)).json();
    const jonas = items.find((it: { email: string }) => it.email.startsWith("jonas"));
    await owner.request.delete(`/v1/tenants/${me.tenant_id}/members/${jonas.user_id}`);
    await expect(page).toHaveURL("/invitations");
    await expect(page.getByText("No studio")).toBeVisible();
    await owner.close();
  });
});

test.describe("without a session", () => {
  test.use({ expected: [401] });

  test("asks for a sign-in over the page, and then does what was pressed", async ({ page, as, provoke }) => {
    await as("mira");
    await page.goto("/members");
    await provoke({ operation: "removeMember", slug: "session-ended" });
    await page.getByRole("button", { name: "Actions for Jonas Weber" }).click();
    await page.getByRole("menuitem", { name: "Remove…" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click();
    const dialog = page.getByRole("dialog", { name: "You are signed out" });
    await expect(dialog.getByLabel("E-mail")).toHaveValue("mira@northlight.studio");
    await expect(dialog.getByLabel("Password", { exact: true })).toBeFocused();
    await accessible(page);
    await dialog.getByLabel("Password", { exact: true }).fill("northlight");
    await page.keyboard.press("Enter");
    await expect(page.getByText("Jonas Weber is removed")).toBeVisible();
    await expect(page.getByRole("table", { name: "Members" })).not.toContainText("Jonas");
  });
});

test.describe("recent sign-in", () => {
  test.use({ expected: [403] });

  test("asks who it is before it changes how one signs in", async ({ page, as, provoke }) => {
    await as("mira");
    await page.goto("/account/sign-in");
    await provoke({ operation: "deletePasskey", slug: "recent-sign-in-required" });
    await page.getByRole("button", { name: "Actions for the passkey MacBook" }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog", { name: "Confirm that it is you" });
    await dialog.getByLabel("Password", { exact: true }).fill("northlight");
    await page.keyboard.press("Enter");
    await expect(page.getByText("The passkey “MacBook” is deleted")).toBeVisible();
    await page.goto("/account/sessions");
    await expect(page.getByText("3 sessions are open.")).toBeVisible();
  });
});

test("on a phone: menu, page, and nothing too wide", async ({ page, as }) => {
  await page.setViewportSize({ width: 390, height: 780 });
  await as("mira");
  await page.goto("/members");
  await page.getByRole("button", { name: "Menu" }).click();
  await accessible(page);
  await fits(page);
  await page.getByRole("link", { name: "API keys" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "API keys" })).toBeVisible();
  await expect(page.getByRole("link", { name: "Members" })).toBeHidden();
});

test("an address that is not there says so, and leads back", async ({ page, as }) => {
  await as("mira");
  await page.goto("/nothing-here");
  await expect(page.getByRole("heading", { name: "There is nothing here" })).toBeVisible();
  await accessible(page);
  await page.getByRole("link", { name: "To the start page" }).click();
  await expect(page).toHaveURL("/overview");
});

test.describe("a page that cannot be loaded", () => {
  test.use({ expected: [500] });

  test("says why, with the request's id, and tries again", async ({ page, as, provoke }) => {
    await as("mira");
    await provoke({ operation: "listApiKeys", slug: "internal" });
    await page.goto("/api-keys");
    await expect(page.getByRole("alert").filter({ hasText: "This page could not be loaded" })).toContainText(
      /[0-9a-f]{32}/,
    );
    await accessible(page);
    await page.getByRole("button", { name: "Try again" }).click();
    await expect(page.getByRole("heading", { level: 1, name: "API keys" })).toBeVisible();
  });
});

test.describe("busy", () => {
  test.use({ expected: [503] });

  test("waits as long as it is told, and repeats", async ({ page, as, provoke }) => {
    await as("mira");
    await provoke({ operation: "listApiKeys", slug: "overloaded", retryAfter: 1 });
    await page.goto("/api-keys");
    await expect(page.getByRole("cell", { name: "render-farm" }).first()).toBeVisible();
  });
});
