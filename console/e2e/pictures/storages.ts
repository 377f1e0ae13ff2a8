import type { Page } from "@playwright/test";
import type { Picture } from "./picture";

/** Storages have ids of their own in each backend: they are gone to by their name. */
const ofStorage = (name: string, tab = "", more: Partial<Picture> = {}): Picture => ({
  name: `storage-${name}${tab ? `-${tab}` : ""}`,
  path: "/storages",
  person: "mira",
  ...more,
  open: async (page) => {
    await goTo(page, name, tab);
    await more.open?.(page);
  },
});

async function goTo(page: Page, name: string, tab = "") {
  await page.getByRole("link", { name, exact: true }).first().click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
  if (!tab) return;
  await page.goto(`${page.url()}/${tab}`);
  await page.getByText(name, { exact: true }).first().waitFor();
}

const menuOf = async (page: Page, name: string, entry: number) => {
  await page.getByRole("row").filter({ hasText: name }).getByRole("button").last().click();
  await page.getByRole("menuitem").nth(entry).click();
};

export const storages: Picture[] = [
  { name: "storages", path: "/storages", person: "mira" },
  { name: "storages-viewer", path: "/storages?kind=volume", person: "jonas" },
  {
    name: "storages-ordered",
    path: "/storages?state=available,failed&name=e&sort=-size_gib",
    person: "mira",
  },
  { name: "storages-none-found", path: "/storages?state=deleting", person: "mira" },
  {
    name: "storages-empty",
    path: "/storages",
    person: "mira",
    open: async (page) => {
      await page.request.post("/mock/change", { data: { empty: true } });
      await page.reload();
      await page.getByText("curl").first().waitFor();
    },
  },
  {
    name: "storages-menu",
    path: "/storages",
    person: "mira",
    whole: false,
    open: async (page) => {
      await page.getByRole("row").filter({ hasText: "act-2-files" }).getByRole("button").last().click();
      await page.getByRole("menu").waitFor();
    },
  },
  {
    name: "storages-grow",
    path: "/storages",
    person: "mira",
    whole: false,
    open: async (page) => {
      await menuOf(page, "act-2-files", 2);
      await page.getByRole("dialog").locator("[name=size_gib]").waitFor();
    },
  },
  {
    name: "storages-rename",
    path: "/storages",
    person: "mira",
    whole: false,
    open: async (page) => {
      await menuOf(page, "act-2-files", 3);
      await page.getByRole("dialog").waitFor();
    },
  },
  {
    name: "storages-in-use",
    path: "/storages",
    person: "mira",
    whole: false,
    open: async (page) => {
      await menuOf(page, "shared-models", 4);
      await page.getByRole("dialog").getByText("poster-march").waitFor();
    },
  },
  {
    name: "storages-delete",
    path: "/storages",
    person: "mira",
    whole: false,
    open: async (page) => {
      await menuOf(page, "finished-pictures", 3);
      await page.getByRole("alertdialog").waitFor();
    },
  },
  { name: "storages-new", path: "/storages/new", person: "mira" },
  {
    name: "storages-new-errors",
    path: "/storages/new",
    person: "mira",
    open: async (page) => {
      await page.locator("[name=size_gib]").fill("1900");
      await page.locator("[name=size_gib]").press("Enter");
      await page.locator("[aria-invalid=true]").first().waitFor();
    },
  },
  {
    name: "storages-new-bucket",
    path: "/storages/new?spec=archive",
    person: "mira",
    open: async (page) => void (await page.locator("[name=name]").fill("exports")),
  },
  ...["act-2-files", "finished-pictures", "render-cache", "scan-data"].map((name) => ofStorage(name)),
  ofStorage("finished-pictures", "keys"),
  ofStorage("act-2-files", "operations"),
  ofStorage("act-2-files", "settings"),
  {
    ...ofStorage("finished-pictures", "keys?key=new", {
      whole: false,
      open: async (page) => {
        await page.getByRole("dialog").getByRole("button").last().click();
        await page.getByRole("dialog").getByText("[atelier]").waitFor();
      },
    }),
    name: "storage-key-made",
  },
  {
    ...ofStorage("act-2-files", "", {
      open: async (page) => {
        await page.getByRole("main").getByRole("button").nth(-2).waitFor();
        await page.goto(`${page.url()}?open=grow`);
        await page.getByRole("dialog").locator("[name=size_gib]").fill("400");
        await page.keyboard.press("Enter");
        await page.getByRole("progressbar").waitFor();
      },
    }),
    name: "storage-growing",
  },
  { name: "secrets", path: "/secrets", person: "mira" },
  { name: "secrets-viewer", path: "/secrets", person: "jonas" },
  { name: "secrets-add", path: "/secrets?add=", person: "mira", whole: false },
  {
    name: "secrets-empty",
    path: "/secrets",
    person: "mira",
    open: async (page) => {
      await page.request.post("/mock/change", { data: { empty: true } });
      await page.reload();
      await page.getByText("curl").first().waitFor();
    },
  },
  { name: "account-ssh", path: "/account/ssh-keys", person: "mira" },
  {
    name: "account-ssh-add",
    path: "/account/ssh-keys",
    person: "ines",
    whole: false,
    open: async (page) => {
      await page.getByRole("region").getByRole("button").first().click();
      await page.getByRole("dialog").waitFor();
    },
  },
];
