import type { Page } from "@playwright/test";
import { drawn } from "../drawn";
import type { Picture } from "./picture";

const goTo = (list: string, name: string) => async (page: Page) => {
  await page.getByRole("link", { name, exact: true }).first().click();
  await page.waitForURL(new RegExp(`${list}/[a-z]+_`));
  await page.getByRole("heading", { level: 1, name }).waitFor();
};

const ofModel = (name: string, suffix: string, open?: Picture["open"], whole?: false): Picture => ({
  name: `models-${suffix}`,
  path: "/models",
  person: "mira",
  ...(whole === false && { whole }),
  open: async (page) => {
    await goTo("/models", name)(page);
    await page.getByRole("table").waitFor();
    await open?.(page);
  },
});

/** A training is found by its place in the list: those without a model have no name. */
const ofTraining = (state: string, suffix: string, open?: Picture["open"]): Picture => ({
  name: `training-${suffix}`,
  path: `/training?state=${state}`,
  person: "mira",
  open: async (page) => {
    await page.getByRole("row").getByRole("link").first().click();
    await page.waitForURL(/\/training\/job_/);
    await page.getByRole("list").last().waitFor();
    await open?.(page);
  },
});

const loss = async (page: Page) => {
  await page.locator(".uplot canvas").waitFor();
  await page.locator("main img").first().waitFor();
};

const choose = (count: number) => async (page: Page) => {
  await page.locator("input[type=file]").setInputFiles(await drawn(page, count));
  await page
    .locator("canvas")
    .nth(count - 1)
    .waitFor();
};

export const models: Picture[] = [
  { name: "models", path: "/models", person: "mira" },
  { name: "models-viewer", path: "/models", person: "jonas" },
  { name: "models-none-found", path: "/models?name=zebra", person: "mira" },
  {
    name: "models-menu",
    path: "/models",
    person: "mira",
    whole: false,
    open: async (page) => {
      await page.getByRole("row").filter({ hasText: "gouache-v4" }).getByRole("button").last().click();
      await page.getByRole("menu").waitFor();
    },
  },
  {
    name: "models-delete",
    path: "/models",
    person: "mira",
    whole: false,
    open: async (page) => {
      await page.getByRole("row").filter({ hasText: "gouache-v4" }).getByRole("button").last().click();
      await page.getByRole("menuitem").last().click();
      await page.getByRole("alertdialog").getByText("act-2-files").waitFor();
    },
  },
  ofModel("gouache-v4", "one"),
  ofModel("heroine-v2", "one-failed"),
  ofModel(
    "night-city-v2",
    "rename",
    async (page) => {
      await page.locator("main header").getByRole("button").last().click();
      await page.getByRole("menuitem").first().click();
      await page.getByRole("dialog").waitFor();
    },
    false,
  ),
  {
    name: "models-lay",
    path: "/models",
    person: "mira",
    whole: false,
    open: async (page) => {
      await goTo("/models", "gouache-v4")(page);
      await page.goto(`${page.url()}?open=lay`);
      await page.getByRole("dialog").getByRole("combobox").waitFor();
    },
  },
  { name: "training", path: "/training", person: "mira" },
  { name: "training-viewer", path: "/training", person: "jonas" },
  { name: "training-expired", path: "/training?state=expired", person: "mira" },
  ofTraining("running", "running"),
  ofTraining("queued", "waiting"),
  ofTraining("failed", "failed"),
  ofTraining("cancelled", "stopped"),
  ofTraining("succeeded", "done", loss),
  { name: "training-new", path: "/training/new", person: "mira" },
  { name: "training-new-viewer", path: "/training/new", person: "jonas" },
  {
    name: "training-new-filled",
    path: "/training/new",
    person: "mira",
    open: async (page) => {
      await choose(4)(page);
      await page.locator("[name='parameters.theme']").fill("paper lantern");
      await page.locator("[name='parameters.name']").fill("lanterns-v1");
      await page.locator("[name='parameters.steps']").fill("1500");
      await page.locator("#summary").locator("..").getByText("4090-small-4-1").waitFor();
    },
  },
  {
    name: "training-new-missing",
    path: "/training/new",
    person: "mira",
    open: async (page) => {
      await choose(1)(page);
      await page.locator("button[type=submit]:visible").click();
      await page.locator("[aria-invalid=true]").first().waitFor();
    },
  },
  {
    name: "training-new-cut",
    path: "/training/new",
    person: "mira",
    open: async (page) => {
      await page.route("**/mock/objects/**", (route) => route.abort());
      await choose(3)(page);
      await page.getByRole("alert").nth(2).waitFor();
    },
  },
  {
    name: "training-stop",
    path: "/training?state=running",
    person: "mira",
    whole: false,
    open: async (page) => {
      await page.getByRole("row").getByRole("link").first().click();
      await page.waitForURL(/\/training\/job_/);
      await page.locator("main header").getByRole("button").first().click();
      await page.getByRole("alertdialog").waitFor();
    },
  },
];
