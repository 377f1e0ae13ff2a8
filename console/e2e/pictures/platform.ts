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

export const platform: Picture[] = [
  of("overview", "/admin"),
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
  of("users", "/admin/users"),
  of("user", "/admin/users", first("/admin/users", "Mira Okafor")),
  of("instances", "/admin/instances", (page) => page.getByRole("row").nth(2).waitFor()),
  of("instance-stop", "/admin/instances", async (page) => {
    await first("/admin/instances?find=halden", "halden-lookdev")(page);
    await page.getByRole("main").getByRole("button", { name: /…/ }).first().click();
    await page.getByRole("dialog").waitFor();
  }),
  of("ssh", "/admin/instances/ssh"),
  of("storages", "/admin/storages"),
  of("pools", "/admin/pools"),
  of("pool", "/admin/pools", first("/admin/pools", "generation")),
  of("health", "/admin/health"),
  of("logs", "/admin/health/logs"),
  of("keys", "/admin/health/keys"),
  of("audit", "/admin/audit", (page) => page.getByRole("row").nth(2).waitFor()),
];
