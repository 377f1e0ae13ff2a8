import { accessible, expect, fits, test } from "./fixtures";

test("an owner invites, changes a role, withdraws, removes", async ({ page, as }) => {
  await as("mira");
  await page.goto("/members");
  await expect(page.getByText("4 people, 1 owner. 1 invitation is open.")).toBeVisible();
  await page.getByRole("button", { name: "Invite a person" }).click();
  const dialog = page.getByRole("dialog", { name: "Invite a person" });
  await page.keyboard.press("Enter");
  await expect(dialog.getByText("Enter an e-mail address.")).toBeVisible();
  await accessible(page);
  await dialog.getByLabel("E-mail").fill("ada@example.com");
  await dialog.getByRole("combobox", { name: "Role" }).click();
  await accessible(page);
  await page.getByRole("option", { name: /Viewer/ }).click();
  await dialog.getByRole("button", { name: "Invite" }).click();
  await expect(page.getByText("ada@example.com is invited")).toBeVisible();
  await expect(page.getByText("2 invitations are open.")).toBeVisible();
  await page.getByRole("button", { name: "Withdraw the invitation of ada@example.com" }).click();
  await expect(page.getByText("1 invitation is open.")).toBeVisible();

  await page.getByRole("combobox", { name: "Role of Tomas Reyl" }).click();
  await page.getByRole("option", { name: /Owner/ }).click();
  await expect(page.getByText("Tomas Reyl is now owner")).toBeVisible();
  await expect(page.getByText("4 people, 2 owners.")).toBeVisible();
});

test("whoever gives up their own role is warned", async ({ page, as }) => {
  await as("mira");
  await page.goto("/members");
  await page.getByRole("combobox", { name: "Role of Ines Duarte" }).click();
  await page.getByRole("option", { name: /Owner/ }).click();
  await page.getByRole("combobox", { name: "Role of Mira Okafor" }).click();
  await page.getByRole("option", { name: /Member/ }).click();
  const warning = page.getByRole("alertdialog", { name: "Give up your own role of owner?" });
  await accessible(page);
  await page.keyboard.press("Escape");
  await expect(warning).toBeHidden();
  await expect(page.getByRole("combobox", { name: "Role of Mira Okafor" })).toContainText("Owner");
  await page.getByRole("combobox", { name: "Role of Mira Okafor" }).click();
  await page.getByRole("option", { name: /Member/ }).click();
  await warning.getByRole("button", { name: "Become member" }).click();
  const invite = page.getByRole("button", { name: "Invite a person" });
  await expect(invite).toHaveAttribute("aria-disabled", "true");
  await expect(invite).toHaveAccessibleDescription("Only owners of the studio can do this.");
});

test("a viewer sees reasons, not buttons that fail", async ({ page, as }) => {
  await as("jonas");
  await page.goto("/members?open=invite");
  const invite = page.getByRole("button", { name: "Invite a person" });
  await invite.focus();
  await expect(page.getByRole("tooltip")).toHaveText("Only owners of the studio can do this.");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(page.getByRole("combobox")).toHaveCount(0);
  await page.getByRole("button", { name: "Actions for Tomas Reyl" }).click();
  await expect(page.getByRole("menuitem", { name: /Remove/ })).toContainText("Only owners");
});

test("the last owner cannot leave, and is told why", async ({ page, as }) => {
  await as("mira");
  await page.goto("/members");
  await page.getByRole("button", { name: "Actions for Mira Okafor" }).click();
  await expect(page.getByRole("menuitem", { name: /Leave/ })).toContainText("You are the only owner.");
});

test.describe("refusals", () => {
  test.use({ expected: [409, 422] });

  test("a refusal stands in the dialog that caused it, at its field", async ({ page, as }) => {
    await as("mira");
    await page.goto("/members?open=invite");
    const dialog = page.getByRole("dialog", { name: "Invite a person" });
    await dialog.getByLabel("E-mail").fill("tomas@northlight.studio");
    await page.keyboard.press("Enter");
    await expect(dialog.getByRole("alert")).toContainText("This person is a member already.");
    await dialog.getByLabel("E-mail").fill("a@b");
    await page.keyboard.press("Enter");
    await expect(dialog.getByLabel("E-mail")).toHaveAccessibleDescription("This is not an e-mail address.");
    await expect(dialog.getByLabel("E-mail")).toBeFocused();
  });
});

test.describe("who joins", () => {
  // a studio without a budget
  test.use({ expected: [404] });

  test("an invitation is accepted after the sign-in", async ({ page, as }) => {
    await as("lena");
    await page.goto("/");
    await expect(page).toHaveURL("/invitations");
    await expect(page.getByText("mara@atelier.example invites you as member.")).toBeVisible();
    await accessible(page);
    await page.getByRole("button", { name: "Accept" }).click();
    await expect(page.getByRole("button", { name: /Vesper Films member/ })).toBeVisible();
    await expect(page).toHaveURL("/overview");
    await expect(page.getByRole("heading", { name: "First steps" })).toBeVisible();
  });
});

test("on a phone each row keeps what it can do", async ({ page, as }) => {
  await page.setViewportSize({ width: 390, height: 780 });
  await as("mira");
  await page.goto("/members");
  await page.getByRole("button", { name: "Actions for Jonas Weber" }).click();
  await page.getByRole("menuitem", { name: "Remove…" }).click();
  await accessible(page);
  await fits(page);
  await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click();
  await expect(page.getByText("3 people")).toBeVisible();
});
