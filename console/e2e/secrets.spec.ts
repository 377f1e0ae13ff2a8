import { accessible, expect, fits, test } from "./fixtures";

test.describe("refusals", () => {
  test.use({ expected: [409, 422] });

  test("a registry credential is added, its secret is never shown; a taken name stands at its field", async ({
    page,
    as,
  }) => {
    await as("tomas");
    await page.goto("/secrets");
    await expect(page.getByText("2 credentials for private images. 1 secret is in instances.")).toBeVisible();
    await page.getByRole("button", { name: "Add a credential" }).click();
    const dialog = page.getByRole("dialog", { name: "Add a credential" });
    await dialog.getByLabel("Name", { exact: true }).fill("studio images");
    await dialog.getByLabel("Registry").fill("https://ghcr.io/northlight");
    await dialog.getByLabel("User name").fill("robot");
    await dialog.getByLabel("Password or token", { exact: true }).fill("ghp_0123456789");
    await page.keyboard.press("Enter");
    await expect(dialog.getByLabel("Registry")).toBeFocused();
    await expect(dialog.getByLabel("Registry")).toHaveAccessibleDescription(/without https/);
    await accessible(page);
    await dialog.getByLabel("Registry").fill("ghcr.io");
    await page.keyboard.press("Enter");
    await expect(dialog.getByLabel("Name", { exact: true })).toHaveAccessibleDescription(
      /Another credential has this name/,
    );
    await expect(dialog.getByLabel("Password or token", { exact: true })).toHaveValue("ghp_0123456789");
    await dialog.getByLabel("Name", { exact: true }).fill("nightly images");
    await page.keyboard.press("Enter");
    const row = page.getByRole("row").filter({ hasText: "nightly images" });
    await expect(row).toContainText("Tomas Reyl");
    await expect(page.getByText("ghp_0123456789")).toHaveCount(0);
    await row.getByRole("button", { name: "Actions for nightly images" }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await accessible(page);
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await expect(row).toHaveCount(0);
  });

  test("an SSH key of a person is added and deleted; one that is there already is said", async ({
    page,
    as,
  }) => {
    await page.setViewportSize({ width: 390, height: 780 });
    await as("ines");
    await page.goto("/account/ssh-keys");
    await expect(page.getByText("No SSH keys yet")).toBeVisible();
    await page.getByRole("button", { name: "Add an SSH key" }).click();
    const dialog = page.getByRole("dialog", { name: "Add an SSH key" });
    const field = dialog.getByLabel("Public key");
    await field.fill("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC");
    await page.keyboard.press("Enter");
    await expect(field).toHaveAccessibleDescription(/ed25519 or ecdsa/);
    await accessible(page);
    const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB2Yc0y1o3xkS3m5c7d9e1Hn6w1vPq0u0k1sJr7m7s ines@desk";
    await field.fill(key);
    await page.keyboard.press("Enter");
    await expect(page.getByText("ines@desk", { exact: true })).toBeVisible();
    await page.getByRole("button", { name: "Add an SSH key" }).click();
    await field.fill(key);
    await page.keyboard.press("Enter");
    await expect(field).toHaveAccessibleDescription(/in the list already/);
    await page.keyboard.press("Escape");
    await fits(page);
    await page.getByRole("button", { name: "Delete the SSH key ines@desk" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await expect(page.getByText("No SSH keys yet")).toBeVisible();
  });
});

test("a viewer sees which credentials there are, and why none can be added", async ({ page, as }) => {
  await as("jonas");
  await page.goto("/secrets?add=");
  const add = page.getByRole("button", { name: "Add a credential" });
  await expect(add).toHaveAccessibleDescription(/Viewers cannot change anything here/);
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.getByRole("button", { name: "Actions for studio images" }).click();
  await expect(page.getByRole("menuitem", { name: /^Delete/ })).toContainText("Viewers cannot");
});

test("a credential is replaced by another for the same registry; instances name their secrets", async ({
  page,
  as,
}) => {
  await as("mira");
  await page.goto("/secrets");
  await page.getByRole("button", { name: "Actions for training images" }).click();
  await page.getByRole("menuitem", { name: /^Replace/ }).click();
  await expect(page.getByLabel("Registry", { exact: true })).toHaveValue("registry.northlight.example:5000");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page.getByRole("row").filter({ hasText: "HF_TOKEN" })).toContainText("lora-heroine");
});
