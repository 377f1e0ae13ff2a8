import type { Page } from "@playwright/test";
import type { Picture } from "./picture";

const first =
  (list: string, name: string, tab = "") =>
  async (page: Page) => {
    await page.goto(list);
    await page.getByRole("link", { name, exact: true }).first().click();
    await page.getByRole("heading", { level: 1, name }).waitFor();
    if (tab) await page.goto(`${page.url()}/${tab}`);
  };

const of = (name: string, path: string, open?: (page: Page) => Promise<void>): Picture => ({
  name: `platform-${name}`,
  path,
  person: "mara",
  ...(open && { open }),
});

/** What floats closes when the window grows to the page. */
const floating = (...picture: Parameters<typeof of>): Picture => ({ ...of(...picture), whole: false });

export const platform: Picture[] = [
  of("overview", "/admin", (page) => page.locator("canvas").waitFor()),
  of("tenants", "/admin/tenants"),
  of("tenants-create", "/admin/tenants?open=create", (page) => page.getByRole("dialog").waitFor()),
  of("tenant", "/admin/tenants", first("/admin/tenants", "Atlas Animation")),
  of("tenant-deleting", "/admin/tenants", first("/admin/tenants", "Harbour Lights")),
  of("tenant-members", "/admin/tenants", first("/admin/tenants", "Northlight Studio", "members")),
  of("tenant-limits", "/admin/tenants", first("/admin/tenants", "Northlight Studio", "limits")),
  of("tenant-suspend", "/admin/tenants", async (page) => {
    await first("/admin/tenants", "Foxglove Studio")(page);
    await page.goto(`${page.url()}?open=suspend`);
    await page.getByRole("dialog").waitFor();
  }),
  of("tenant-delete", "/admin/tenants", async (page) => {
    await first("/admin/tenants", "Grainfield Labs")(page);
    await page.goto(`${page.url()}?open=delete`);
    await page.getByRole("dialog").waitFor();
  }),
  of("tenant-quota", "/admin/tenants", async (page) => {
    await first("/admin/tenants", "Atlas Animation", "limits")(page);
    await page.getByRole("region").first().getByRole("button").first().click();
    await page.locator("[name=gpus]").fill("3");
  }),
  of("tenant-add", "/admin/tenants", async (page) => {
    await first("/admin/tenants", "Northlight Studio", "members")(page);
    await page.getByRole("main").getByRole("region").first().getByRole("button").first().click();
    await page.getByRole("dialog").waitFor();
  }),
  of("tenant-budget", "/admin/tenants", async (page) => {
    await first("/admin/tenants", "Northlight Studio", "limits")(page);
    await page.getByRole("region").nth(2).getByRole("button").first().click();
    await page.getByRole("dialog").waitFor();
  }),
  floating("tenant-menu", "/admin/tenants", async (page) => {
    await first("/admin/tenants", "Atlas Animation")(page);
    await page.locator("main header").getByRole("button").last().click();
    await page.getByRole("menu").waitFor();
  }),
  floating("tenants-filter", "/admin/instances", async (page) => {
    await page.getByRole("row").nth(2).waitFor();
    await page.getByRole("main").getByRole("combobox").click();
    await page.getByRole("listbox").waitFor();
  }),
  of("users", "/admin/users"),
  floating("users-create", "/admin/users?open=create", (page) => page.getByRole("dialog").waitFor()),
  of("user-password", "/admin/users", async (page) => {
    await first("/admin/users", "Mira Okafor")(page);
    await page.goto(`${page.url()}?open=password`);
    await page.getByRole("dialog").waitFor();
  }),
  of("user-delete", "/admin/users", async (page) => {
    await first("/admin/users", "Mira Okafor")(page);
    await page.goto(`${page.url()}?open=delete`);
    await page.locator("[role$=dialog]").waitFor();
  }),
  of("user", "/admin/users", first("/admin/users", "Mira Okafor")),
  of("instances", "/admin/instances", (page) => page.getByRole("row").nth(2).waitFor()),
  of("instance-stop", "/admin/instances", async (page) => {
    await first("/admin/instances?find=halden", "halden-lookdev")(page);
    await page.getByRole("main").getByRole("button", { name: /…/ }).first().click();
    await page.getByRole("dialog").waitFor();
  }),
  of("ssh", "/admin/instances/ssh"),
  of("storages", "/admin/storages"),
  of("storage", "/admin/storages", first("/admin/storages", "render-cache")),
  of("storage-delete", "/admin/storages", async (page) => {
    await first("/admin/storages", "render-cache")(page);
    await page.locator("main header").getByRole("button").last().click();
    await page.getByRole("dialog").waitFor();
  }),
  of("pools", "/admin/pools"),
  of("pool", "/admin/pools", first("/admin/pools", "generation")),
  of("health", "/admin/health"),
  of("logs", "/admin/health/logs"),
  of("keys", "/admin/health/keys"),
  of("keys-rotate", "/admin/health/keys", async (page) => {
    await page.getByRole("region").getByRole("button").first().click();
    await page.getByRole("alertdialog").waitFor();
  }),
  of("audit-verified", "/admin/audit", async (page) => {
    await page.request.post("/mock/change", { data: { brokenAudit: true } });
    await page.getByRole("row").nth(2).waitFor();
    await page.locator("main").getByRole("button").first().click();
  }),
  floating("palette", "/admin", async (page) => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("st");
    await page.getByRole("option").first().waitFor();
  }),
  of("audit", "/admin/audit", (page) => page.getByRole("row").nth(2).waitFor()),
];
