import { accessible, expect, test } from "./fixtures";

test("a user is found, disabled and signed out", async ({ page, as }) => {
  await as("mara");
  await page.goto("/admin/users");
  await expect(page.getByText(/^60 users\. 2 administer the platform\./)).toBeVisible();
  await page.getByRole("searchbox", { name: "E-mail begins with" }).fill("jonas@");
  await expect(page).toHaveURL(/email=jonas/);
  await page.getByRole("link", { name: "Jonas Weber" }).click();
  await expect(page.getByRole("table", { name: "Tenants" })).toContainText("Northlight Studio");
  await page.getByRole("button", { name: "Disable…" }).click();
  const dialog = page.getByRole("alertdialog", { name: "Disable Jonas Weber?" });
  await accessible(page);
  await dialog.getByRole("button", { name: "Disable" }).click();
  await expect(page.getByText("Disabled", { exact: true })).toBeVisible();
  const refused = await page.request.post("/v1/sessions", {
    data: { email: "jonas@northlight.studio", password: "northlight" },
  });
  expect(refused.status()).toBe(403);
});

test("whoever gives up their own right of an administrator is warned", async ({ page, as }) => {
  await as("mara");
  await page.goto("/admin/users?email=mara@");
  await page.getByRole("link", { name: /Mara Lindqvist/ }).click();
  await expect(page.getByRole("button", { name: "Disable…" })).toHaveAttribute("aria-disabled", "true");
  await page.getByRole("button", { name: "Take the right…" }).click();
  const dialog = page.getByRole("alertdialog", { name: "Give up your own right of an administrator?" });
  await expect(dialog).toContainText("Only another administrator can give the right back.");
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await expect(page.getByRole("button", { name: "Take the right…" })).toBeFocused();
  await page.getByRole("button", { name: "Take the right…" }).click();
  await dialog.getByRole("button", { name: "Give up the right" }).click();
  await expect(page.getByRole("link", { name: "Tenants" })).toHaveCount(0);
});

test.describe("refusals", () => {
  test.use({ expected: [409] });

  test("the only owner of a tenant cannot be deleted, and the dialog says so", async ({ page, as }) => {
    await as("mara");
    await page.goto("/admin/users?email=mira@");
    await page.getByRole("link", { name: "Mira Okafor" }).click();
    await page.getByRole("button", { name: "Delete…" }).click();
    const dialog = page.getByRole("alertdialog", { name: "Delete Mira Okafor?" });
    await dialog.getByLabel(/to confirm/).fill("mira@northlight.studio");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(dialog.getByRole("alert")).toContainText("A studio needs an owner.");
  });

  test("an address that is taken is refused at the form, which keeps what was typed", async ({
    page,
    as,
  }) => {
    await as("mara");
    await page.goto("/admin/users?open=create");
    const dialog = page.getByRole("dialog", { name: "Create a user" });
    await dialog.getByLabel("E-mail").fill("ines@northlight.studio");
    await dialog.getByLabel("Password", { exact: true }).fill("a long password");
    await page.keyboard.press("Enter");
    await expect(dialog.getByRole("alert")).toContainText("E-mail address");
    await dialog.getByLabel("E-mail").fill("ines.d@northlight.studio");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("heading", { level: 1, name: "ines.d" })).toBeVisible();
  });
});

test("an instance of another tenant is stopped with a reason, which its record keeps", async ({
  page,
  as,
}) => {
  await as("mara");
  await page.goto("/admin/instances");
  await page.getByRole("searchbox", { name: "Id, name or node" }).fill("halden-lookdev");
  // the rows stand still
  await expect(page).toHaveURL(/find=halden-lookdev/);
  const row = page.getByRole("row").filter({ hasText: "halden-lookdev" });
  await expect(row).toContainText("Halden Games");
  await row.getByRole("button", { name: "Actions for halden-lookdev" }).click();
  await page.getByRole("menuitem", { name: "Stop…" }).click();
  const dialog = page.getByRole("dialog", { name: "Stop halden-lookdev?" });
  await page.keyboard.press("Enter");
  await expect(dialog.getByText("Say why.")).toBeVisible();
  await expect(dialog.getByLabel("Reason")).toBeFocused();
  await accessible(page);
  await dialog.getByLabel("Reason").fill("The node gets a new driver.");
  await page.keyboard.press("Enter");
  await expect(page.getByText("halden-lookdev is being stopped")).toBeVisible();
  await row.getByRole("link", { name: "halden-lookdev" }).click();
  await expect(page.getByText("Stopped", { exact: true }).first()).toBeVisible();
  const record = page.getByRole("region", { name: "Actions of administrators" });
  await expect(record).toContainText("The node gets a new driver.");
  await expect(record).toContainText("Mara Lindqvist");
  await expect(page.getByRole("button", { name: "Stop…" })).toHaveAccessibleDescription("It does not run.");
});

test.describe("storages", () => {
  test.use({ expected: [409] });

  test("one that an instance uses is not deleted", async ({ page, as }) => {
    await as("mara");
    await page.goto("/admin/storages");
    await page.getByRole("searchbox", { name: "Id, name or datacenter" }).fill("act-2-files");
    await page.getByRole("button", { name: "Actions for act-2-files" }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete act-2-files?" });
    await expect(dialog).toContainText("1 instance uses it.");
    await dialog.getByLabel("Reason").fill("Left over.");
    await page.keyboard.press("Enter");
    await expect(dialog.getByRole("alert")).toBeVisible();
    await expect(dialog.getByLabel("Reason")).toHaveValue("Left over.");
  });
});
