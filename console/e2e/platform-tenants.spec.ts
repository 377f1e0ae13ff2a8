import type { Page } from "@playwright/test";
import { accessible, expect, test } from "./fixtures";

const open = async (page: Page, name: string) => {
  await page.goto(`/admin/tenants?name=${encodeURIComponent(name)}`);
  await page.getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
};

test("a tenant is created with an invitation of its owner", async ({ page, as }) => {
  await as("mara");
  await page.goto("/admin/tenants");
  await expect(page.getByText(/^13 tenants: 11 active, 1 suspended, 1 being deleted\./)).toBeVisible();
  await page.getByRole("button", { name: "Create a tenant" }).click();
  const dialog = page.getByRole("dialog", { name: "Create a tenant" });
  await expect(dialog.getByLabel("Name")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(dialog.getByText("Enter a name.")).toBeVisible();
  await accessible(page);
  await dialog.getByLabel("Name").fill("Juniper Pictures");
  await dialog.getByLabel("First owner (e-mail)").fill("owner@juniper.example");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: "Juniper Pictures" })).toBeVisible();
  await page.getByRole("link", { name: "Members" }).click();
  await expect(page.getByText("No members yet")).toBeVisible();
  await expect(page.getByRole("table", { name: "Open invitations" })).toContainText("owner@juniper.example");
});

test("a suspension says what it does, stops what runs, and is taken back", async ({ page, as }) => {
  await as("mara");
  await open(page, "Foxglove Studio");
  await page.getByRole("button", { name: "Suspend…" }).click();
  const dialog = page.getByRole("dialog", { name: "Suspend Foxglove Studio?" });
  await expect(dialog.getByText("3 running instances continue and are charged")).toBeVisible();
  await dialog.getByRole("checkbox", { name: /Stop the 3 running instances too/ }).check();
  await expect(dialog.getByText("3 running instances stop, and cost nothing more")).toBeVisible();
  await accessible(page);
  await dialog.getByRole("button", { name: "Suspend" }).click();
  const steps = page.getByRole("list", { name: "Steps" });
  await expect(steps).toContainText("Instances and logs");
  // without a reload
  await expect(page.getByText("Suspended", { exact: true })).toBeVisible();
  await expect(page.getByText(/^Nothing runs\./)).toBeVisible();
  await page.getByRole("button", { name: "Reactivate…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Reactivate" }).click();
  await expect(page.getByText("Active", { exact: true })).toBeVisible();
});

test.describe("the end of a tenant", () => {
  // the tenant is read once more after it is gone
  test.use({ expected: [404, 409] });

  test("members keep it from being deleted; then its steps advance until nothing is left", async ({
    page,
    as,
  }) => {
    await as("mara");
    await open(page, "Grainfield Labs");
    await page.getByRole("button", { name: "Actions for Grainfield Labs" }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete Grainfield Labs?" });
    await dialog.getByRole("combobox", { name: "Delete storages" }).click();
    await page.getByRole("option", { name: "at once" }).click();
    await expect(dialog.getByText("Deletes 5 instances at once")).toBeVisible();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(dialog.getByText("Type the name first.")).toBeVisible();
    await dialog.getByLabel("Type Grainfield Labs to confirm").fill("Grainfield Labs");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(dialog.getByRole("alert")).toContainText("members");
    await accessible(page);
    await page.keyboard.press("Escape");

    await page.getByRole("link", { name: "Members" }).click();
    const people = page.getByRole("table", { name: "Members" });
    for (let left = 4; left > 1; left--) {
      await people
        .getByRole("button", { name: /^Actions for/ })
        .last()
        .click();
      await page.getByRole("menuitem", { name: "Remove…" }).click();
      await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click();
      await expect(people.getByRole("row")).toHaveCount(left);
    }
    await page.getByRole("button", { name: "Actions for Grainfield Labs" }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await dialog.getByRole("combobox", { name: "Delete storages" }).click();
    await page.getByRole("option", { name: "at once" }).click();
    await dialog.getByLabel("Type Grainfield Labs to confirm").fill("Grainfield Labs");
    await page.keyboard.press("Enter");
    const steps = page.getByRole("list", { name: "Steps" });
    await expect(steps).toContainText(/[1-5] instances? left/);
    await expect(page).toHaveURL(/\/admin\/tenants$/, { timeout: 20_000 });
    await expect(page.getByText("Grainfield Labs is deleted")).toBeVisible();
    await expect(page.getByRole("link", { name: "Grainfield Labs" })).toHaveCount(0);
  });
});

test.describe("limits", () => {
  test.use({ expected: [412] });

  test("a quota below what is used is said before the press, and a change of another is not lost", async ({
    page,
    as,
  }) => {
    await as("mara");
    await open(page, "Atlas Animation");
    await page.getByRole("link", { name: "Limits" }).click();
    await page.getByRole("button", { name: "Change the quota" }).click();
    const dialog = page.getByRole("dialog", { name: "Quota of Atlas Animation" });
    await dialog.getByLabel("GPUs in use").fill("3");
    await expect(dialog.getByLabel("GPUs in use")).toHaveAccessibleDescription(/^Fewer than the 14 in use\./);
    await dialog.getByRole("button", { name: "Save" }).click();
    await expect(dialog.getByLabel("Reason")).toBeFocused();
    await accessible(page);
    const id = /ten_\w+/.exec(page.url())?.[0];
    const other = await page.request.put(`/v1/platform-quotas/${id}?reason=other`, {
      headers: { "if-match": "*" },
      data: { gpus: 44 },
    });
    expect(other.ok()).toBe(true);
    await dialog.getByLabel("Reason").fill("Their contract ends.");
    await page.keyboard.press("Enter");
    await expect(dialog.getByRole("alert")).toContainText("Somebody else has changed this meanwhile.");
    await expect(dialog.getByLabel("Reason")).toHaveValue("Their contract ends.");
    await page.reload();
    await page.getByRole("button", { name: "Change the quota" }).click();
    await expect(dialog.getByLabel("GPUs in use")).toHaveValue("44");
    await dialog.getByLabel("GPUs in use").fill("3");
    await dialog.getByLabel("Reason").fill("Their contract ends.");
    await page.keyboard.press("Enter");
    await expect(dialog).toBeHidden();
    await expect(page.getByRole("region", { name: "Quota", exact: true })).toContainText("14 of 3");
  });
});

test.describe("for others", () => {
  test.use({ expected: [404] });

  test("there is nothing under /admin", async ({ page, as }) => {
    await as("mira");
    for (const path of ["/admin", "/admin/tenants", "/admin/users", "/admin/instances"]) {
      await page.goto(path);
      await expect(page.getByRole("heading", { name: "There is nothing here" })).toBeVisible();
    }
    await page.goto("/members");
    await expect(page.getByRole("link", { name: "Tenants" })).toHaveCount(0);
  });
});
