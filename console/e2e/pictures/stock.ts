import type { Page } from "@playwright/test";
import type { Picture } from "./picture";

const person = "mara";

/** They are loaded when they come into view. */
async function graphs(page: Page) {
  await page.mouse.wheel(0, 5000);
  await page.locator("canvas").first().waitFor();
  await page.evaluate(() => window.scrollTo(0, 0));
}

/** Things have ids of their own in each backend: they are gone to by the first link with their name. */
const follow = (name: string) => async (page: Page) => {
  await page.getByRole("link", { name, exact: true }).first().click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
};

/** Chooses an entry of the menu of a row, or of the page's head. */
async function menu(page: Page, row: string, entry: number) {
  await page.getByRole("row").filter({ hasText: row }).getByRole("button").last().click();
  await page.getByRole("menuitem").nth(entry).click();
}

const waits = (role: "dialog" | "alertdialog") => (page: Page) => page.getByRole(role).waitFor();
/** Rows of long lists come after their table. */
const rows = (page: Page) => page.getByRole("row").nth(2).waitFor();

const editOf = (row: string) => `/admin/stock?edit=${encodeURIComponent(row)}`;

async function change(page: Page, available: string, price: string) {
  await page.locator("[name=available]").fill(available);
  await page.locator("[name=price]").fill(price);
}

async function raisePrice(page: Page, spec: string) {
  const { items } = await (await page.request.get("/v1/gpu-specs")).json();
  const { id } = items.find((it: { name: string }) => it.name === spec);
  await page.request.patch(`/v1/gpu-specs/${id}`, {
    data: { price_per_hour: "0.21" },
    headers: { "if-match": "*" },
  });
}

export const stock: Picture[] = [
  { name: "stock", path: "/admin/stock", person },
  {
    name: "stock-update",
    path: editOf("3080-small-4-1@uk-1"),
    person,
    whole: false,
    open: (page) => change(page, "18", "0.22"),
  },
  {
    name: "stock-remove",
    path: editOf("3080-small-4-1@de-2"),
    person,
    whole: false,
    open: (page) => change(page, "15", "0.20"),
  },
  {
    name: "stock-changed",
    path: editOf("3080-small-4-1@uk-1"),
    person,
    whole: false,
    open: async (page) => {
      await change(page, "18", "0.22");
      await raisePrice(page, "3080-small-4-1");
      await page.locator("[name=price]").press("Enter");
      await page.getByRole("alert").filter({ hasText: /./ }).first().waitFor();
    },
  },
  { name: "stock-create", path: "/admin/stock?open=create", person, whole: false, open: waits("dialog") },
  {
    name: "stock-bulk",
    path: "/admin/stock",
    person,
    whole: false,
    open: async (page) => {
      for (const name of ["3080-small-8-1", "2080ti-small-4-1", "a100-small-4-1"])
        for (const box of await page.getByRole("row").filter({ hasText: name }).getByRole("checkbox").all())
          await box.check();
      await page.locator("fieldset").getByRole("button").first().click();
      await page.getByRole("dialog").locator("input").first().fill("4");
    },
  },
  {
    name: "stock-bulk-progress",
    path: "/admin/stock",
    person,
    open: async (page) => {
      for (const name of ["3080-small-8-1", "a100-small-4-1"])
        for (const box of await page.getByRole("row").filter({ hasText: name }).getByRole("checkbox").all())
          await box.check();
      await page.locator("fieldset").getByRole("button").first().click();
      for (const input of await page.getByRole("dialog").locator("input").all()) await input.fill("4");
      await page.getByRole("dialog").getByRole("button").last().click();
      await page.getByRole("dialog").getByText("no room").first().waitFor();
    },
    whole: false,
  },
  {
    name: "stock-chosen",
    path: "/admin/stock",
    person,
    whole: false,
    open: async (page) => {
      for (const box of await page
        .getByRole("row")
        .filter({ hasText: "3080-small-8-1" })
        .getByRole("checkbox")
        .all())
        await box.check();
    },
  },
  { name: "stock-none", path: "/admin/stock?name=zzz", person },
  { name: "units", path: "/admin/units", person, open: rows },
  { name: "units-inactive", path: "/admin/units?state=inactive", person, open: rows },
  { name: "units-node", path: "/admin/units?node=uk1-gpu-03&tenant_id=ten_none", person },
  {
    name: "units-menu",
    path: "/admin/units?state=used",
    person,
    whole: false,
    open: async (page) => {
      await rows(page);
      await page.getByRole("row").nth(2).getByRole("button").click();
      await page.getByRole("menu").waitFor();
    },
  },
  {
    name: "units-remove",
    path: "/admin/units?state=inactive",
    person,
    whole: false,
    open: async (page) => {
      await rows(page);
      await page.request.post("/mock/provoke", {
        data: { operation: "removeStockUnit", slug: "unit-in-use" },
      });
      await page.getByRole("button", { name: /unit_/ }).first().click();
      await page.getByRole("menuitem").last().click();
      await page.getByRole("alertdialog").getByRole("button").last().click();
      await page.getByRole("alert").filter({ hasText: /./ }).first().waitFor();
    },
  },
  {
    name: "unit",
    path: "/admin/units?state=used",
    person,
    open: async (page) => {
      await page.getByRole("table").getByRole("link").nth(3).click();
      await page.getByRole("heading", { level: 1, name: "unit-" }).waitFor();
    },
  },
  { name: "gpu-specs", path: "/admin/gpu-specs", person },
  {
    name: "gpu-specs-menu",
    path: "/admin/gpu-specs",
    person,
    whole: false,
    open: async (page) => {
      await page.getByRole("row").filter({ hasText: "4090-small" }).getByRole("button").last().click();
      await page.getByRole("menu").waitFor();
    },
  },
  {
    name: "gpu-specs-retire",
    path: "/admin/gpu-specs",
    person,
    whole: false,
    open: (page) => menu(page, "4090-small", 2),
  },
  { name: "gpu-spec", path: "/admin/gpu-specs", person, open: follow("4090-small-4-1") },
  {
    name: "gpu-spec-edit",
    path: "/admin/gpu-specs",
    person,
    open: async (page) => {
      await menu(page, "4090-small", 0);
      await page.locator("[name=price_per_hour]").fill("0.79");
    },
  },
  {
    name: "gpu-spec-new",
    path: "/admin/gpu-specs/new?like=a100-mig-1g-5",
    person,
    open: async (page) => {
      await page.locator("[name=name]").fill("A100");
      await page.locator("[name=name]").press("Enter");
      await page.locator("[aria-invalid=true]").first().waitFor();
    },
  },
  { name: "storage-specs", path: "/admin/storage-specs", person },
  {
    name: "storage-specs-new",
    path: "/admin/storage-specs?open=new",
    person,
    whole: false,
    open: waits("dialog"),
  },
  {
    name: "storage-specs-edit",
    path: "/admin/storage-specs?edit=ssd",
    person,
    whole: false,
    open: (page) => page.locator("[name=price_per_gib_month]").fill("0.04"),
  },
  { name: "services", path: "/admin/services", person },
  {
    name: "services-menu",
    path: "/admin/services",
    person,
    whole: false,
    open: async (page) => {
      await page.getByRole("row").filter({ hasText: "jupyter" }).getByRole("button").last().click();
      await page.getByRole("menu").waitFor();
    },
  },
  { name: "service-new", path: "/admin/services/new", person },
  { name: "service", path: "/admin/services?name=jupyter", person, open: follow("jupyter pytorch-cuda12") },
  {
    name: "service-json",
    path: "/admin/services?name=jupyter",
    person,
    open: async (page) => {
      await follow("jupyter pytorch-cuda12")(page);
      await page.goto(`${page.url()}?view=json`);
      const area = page.locator("[name=template]");
      await area.fill((await area.inputValue()).replace("8888,", '0,\n      "title": "Jupyter",'));
      await page.getByRole("status").getByRole("button").first().waitFor();
    },
  },
  { name: "datacenters", path: "/admin/datacenters", person },
  {
    name: "datacenter",
    path: "/admin/datacenters",
    person,
    open: async (page) => {
      await follow("us-1")(page);
      await graphs(page);
    },
  },
  {
    name: "datacenter-week",
    path: "/admin/datacenters",
    person,
    open: async (page) => {
      await follow("uk-1")(page);
      await page.goto(`${page.url()}?period=week`);
      await graphs(page);
    },
  },
  {
    name: "datacenter-year",
    path: "/admin/datacenters",
    person,
    open: async (page) => {
      await follow("de-2")(page);
      await page.goto(`${page.url()}?period=year&gpu_spec=3080-small-4-1`);
      await graphs(page);
    },
  },
  { name: "datacenter-draining", path: "/admin/datacenters", person, open: follow("sg-1") },
  {
    name: "datacenter-drain",
    path: "/admin/datacenters",
    person,
    whole: false,
    open: async (page) => {
      await follow("de-2")(page);
      await page.locator("main header").getByRole("button").nth(1).click();
      await page.getByRole("alertdialog").waitFor();
    },
  },
  {
    name: "datacenter-menu",
    path: "/admin/datacenters",
    person,
    whole: false,
    open: async (page) => {
      await follow("de-2")(page);
      await page.locator("main header").getByRole("button").last().click();
      await page.getByRole("menu").waitFor();
    },
  },
  {
    name: "datacenter-new",
    path: "/admin/datacenters?open=new",
    person,
    whole: false,
    open: waits("dialog"),
  },
];
