import type { Page } from "@playwright/test";
import type { Picture } from "./picture";

const pool = (name: string) => async (page: Page) => {
  await page.getByRole("link", { name, exact: true }).first().click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
};

/** Chosen by its text, which is the same in both languages. */
async function chooseIn(page: Page, field: string, text: string) {
  await page.locator(`[name="${field}"]`).click();
  await page.getByRole("option").filter({ hasText: text }).first().click();
}

async function fill(page: Page) {
  await page.locator("[name=name]").fill("portraits");
  await chooseIn(page, "gpu_specs", "4090-small-4-1");
  await chooseIn(page, "gpu_specs", "3080-small-8-1");
  await chooseIn(page, "tenant_id", "Atelier Workers");
  await chooseIn(page, "workers.service", "worker-webui");
  await page.locator('[name="workers.lent_max"]').fill("12");
}

/** By their places: capacity, shares, workers. */
const section = (page: Page, index: number) => page.getByRole("main").getByRole("region").nth(index);

async function openRegister(page: Page) {
  await pool("workshop")(page);
  await section(page, 2).getByRole("button").first().click();
  await page.getByRole("dialog").waitFor();
}

const of = (name: string, open: (page: Page) => Promise<void>, whole?: false): Picture => ({
  name: `pools-${name}`,
  path: "/admin/pools",
  person: "mara",
  open,
  ...(whole === false && { whole }),
});

const openNew = (page: Page) => page.getByRole("main").getByRole("link", { name: /\S/ }).first().click();

export const pools: Picture[] = [
  of("new", async (page) => {
    await openNew(page);
    await page.locator("[name=name]").waitFor();
  }),
  of("new-filled", async (page) => {
    await openNew(page);
    await fill(page);
  }),
  of("new-wrong", async (page) => {
    await openNew(page);
    await page.locator("[name=name]").fill("Portraits");
    await page.locator('[name="workers.min"]').fill("9");
    await page.locator("[name=name]").press("Enter");
  }),
  of("edit", async (page) => {
    await pool("generation")(page);
    await page.goto(`${page.url()}/edit`);
    await page.locator('[name="workers.max"]').fill("6");
    await page.locator('[name="level_factors.background"]').fill("0.5");
  }),
  of("empty", pool("workshop")),
  of("register", openRegister, false),
  of(
    "token",
    async (page) => {
      await openRegister(page);
      await page.locator("[name=name]").fill("workshop-c");
      await page.locator("[name=node]").fill("basement-2");
      await page.locator("[name=node]").press("Enter");
      await page.locator("code").first().waitFor();
    },
    false,
  ),
  of(
    "share-default",
    async (page) => {
      await pool("generation")(page);
      await section(page, 1).getByRole("button").nth(1).click();
      await page.getByRole("menuitem").last().click();
      await page.getByRole("dialog").waitFor();
    },
    false,
  ),
  of(
    "drain",
    async (page) => {
      await pool("generation")(page);
      await section(page, 2).getByRole("button").nth(1).click();
      await page.getByRole("menuitem").last().click();
      await page.getByRole("alertdialog").waitFor();
    },
    false,
  ),
];
