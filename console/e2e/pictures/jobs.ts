import type { Page } from "@playwright/test";
import type { Picture } from "./picture";

/** Jobs have ids of their own in each backend. */
async function gone(page: Page, state: string, nth = 0) {
  const { items } = await (await page.request.get(`/v1/jobs?state=${state}`)).json();
  await page.goto(`/jobs/${items[nth].id}`);
  await page.locator("h1").first().waitFor();
}

const loaded = (page: Page) =>
  page.waitForFunction(() =>
    [...document.images].every((it) => it.complete || it.getBoundingClientRect().top > innerHeight),
  );

/** Everything that comes into view has been seen. */
async function seen(page: Page) {
  for (let at = 0; at < 4; at++) {
    await page.mouse.wheel(0, 900);
    await loaded(page);
  }
  await page.locator("main img").first().waitFor();
  await page.evaluate(() => scrollTo(0, 0));
}

const ofJob = (name: string, state: string, nth = 0): Picture => ({
  name: `jobs-one-${name}`,
  path: "/jobs",
  person: "mira",
  open: async (page) => {
    await gone(page, state, nth);
    if (state === "succeeded") await page.locator("main img").first().waitFor();
    await loaded(page);
  },
});

export const jobPictures: Picture[] = [
  { name: "jobs-expensive", path: "/jobs?state=failed,expired,succeeded&sort=-cost", person: "mira" },
  {
    name: "jobs-list",
    path: "/jobs",
    person: "mira",
    open: seen,
  },
  {
    name: "jobs-why",
    path: "/jobs",
    person: "mira",
    open: async (page) => {
      await page.locator("main [aria-expanded=false]:not([aria-haspopup])").nth(2).click();
      await page.locator("main [role=status] li").first().waitFor();
    },
  },
  { name: "jobs-failed", path: "/jobs?state=failed", person: "mira" },
  { name: "jobs-viewer", path: "/jobs", person: "jonas" },
  {
    name: "jobs-menu",
    path: "/jobs",
    person: "mira",
    whole: false,
    open: async (page) => {
      await page.locator("main li").nth(2).getByRole("button").last().click();
      await page.getByRole("menu").waitFor();
    },
  },
  {
    name: "jobs-empty",
    path: "/members",
    person: "mira",
    open: async (page) => {
      await page.request.post("/mock/change", { data: { empty: true } });
      await page.goto("/jobs");
      await page.locator("h1").first().waitFor();
    },
  },
  ofJob("done", "succeeded"),
  ofJob("single", "succeeded", 2),
  ofJob("running", "running"),
  ofJob("waiting", "queued", 1),
  ofJob("failed", "failed"),
  {
    name: "jobs-one-program",
    path: "/jobs",
    person: "mira",
    open: async (page) => {
      const { items } = await (await page.request.get("/v1/jobs?kind=batch")).json();
      await page.goto(`/jobs/${items[0].id}`);
      await page.locator("main section section").first().waitFor();
    },
  },
  {
    name: "jobs-large",
    path: "/gallery",
    person: "mira",
    whole: false,
    open: async (page) => {
      await page.locator("main li a").first().click();
      await page.getByRole("dialog").locator("dl").first().waitFor();
      await loaded(page);
    },
  },
  {
    name: "jobs-gallery",
    path: "/gallery",
    person: "mira",
    open: async (page) => {
      await seen(page);
      await page.locator("main li a").nth(2).hover();
    },
  },
  { name: "jobs-new", path: "/jobs/new", person: "mira", open: quoted },
  {
    name: "jobs-new-filled",
    path: "/jobs/new",
    person: "mira",
    open: async (page) => {
      await page.locator("[name='parameters.prompt']").fill("lighthouse at dusk, gouache, calm sea");
      await page.locator("main [role=combobox]").first().click();
      await page.getByRole("option").nth(1).click();
      await page.getByRole("listbox").waitFor({ state: "hidden" });
      await page.locator("main form button[type=button]:not([role=combobox])").first().click();
      await page.locator("main form summary").click();
      await page.locator("[name='max_cost.amount']").fill("0.0001");
      await quoted(page);
      await page.locator("[name='parameters.seed']").press("Enter");
      await page.getByRole("alert").first().waitFor();
    },
  },
  {
    name: "jobs-new-like",
    path: "/jobs",
    person: "mira",
    open: async (page) => {
      const { items } = await (await page.request.get("/v1/jobs?state=succeeded")).json();
      const made = await (await page.request.get(`/v1/jobs/${items[0].id}/artifacts`)).json();
      await page.goto(`/jobs/new?like=${items[0].id}&begin=${made.items[0].id}`);
      await page.locator("main img").first().waitFor();
      await quoted(page);
    },
  },
  {
    name: "jobs-new-program",
    path: "/jobs/new?kind=program",
    person: "mira",
    open: (page) => page.locator("main textarea").first().waitFor(),
  },
];

async function quoted(page: Page) {
  await page.locator("button[type=submit]:visible", { hasText: "$" }).waitFor();
}
