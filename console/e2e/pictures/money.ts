import type { Page } from "@playwright/test";
import type { Picture } from "./picture";

const change = async (page: Page, data: object) => {
  await page.request.post("/mock/change", { data });
  await page.reload();
  await page.locator("h1").first().waitFor();
};

/** The chart comes late. */
const drawn = (page: Page) => page.locator("figure").first().waitFor();

const row = (page: Page, text: string) => page.getByRole("row").filter({ hasText: text });

/** Ids are of each backend: a webhook is gone to by its host. */
const ofWebhook = (host: string, open?: (page: Page) => Promise<void>): Picture => ({
  name: `webhook-${host.split(".")[0]}`,
  path: "/webhooks",
  person: "mira",
  open: async (page) => {
    await row(page, host).getByRole("link").click();
    await page.getByRole("table").waitFor();
    await open?.(page);
  },
});

export const money: Picture[] = [
  { name: "usage", path: "/usage", person: "mira", open: drawn },
  { name: "usage-last-month-gpu", path: "/usage?period=last-month&by=spec", person: "mira", open: drawn },
  { name: "usage-instances", path: "/usage?period=7d&by=instance", person: "mira", open: drawn },
  {
    name: "usage-own",
    path: "/usage?period=own&from=2026-09-01&to=2026-11-20&by=kind",
    person: "jonas",
    open: drawn,
  },
  { name: "usage-jobs", path: "/usage?of=jobs", person: "mira", open: drawn },
  {
    name: "usage-jobs-charge",
    path: "/usage?period=last-month&of=jobs&by=charge",
    person: "mira",
    open: drawn,
  },
  { name: "usage-jobs-pool", path: "/usage?period=7d&of=jobs&by=pool", person: "jonas", open: drawn },
  {
    name: "usage-jobs-empty",
    path: "/usage?of=jobs",
    person: "mira",
    open: (page) => change(page, { empty: true }).then(() => drawn(page)),
  },
  { name: "usage-empty", path: "/usage", person: "mira", open: (page) => change(page, { empty: true }) },
  { name: "usage-limits", path: "/usage/limits", person: "mira" },
  {
    name: "usage-limits-spent",
    path: "/usage/limits",
    person: "tomas",
    open: (page) => change(page, { budgetSpent: true }),
  },
  { name: "webhooks", path: "/webhooks", person: "mira" },
  {
    name: "webhooks-empty",
    path: "/webhooks",
    person: "mira",
    open: (page) => change(page, { empty: true }),
  },
  { name: "webhooks-create", path: "/webhooks?open=create", person: "mira", whole: false },
  {
    name: "webhooks-secret",
    path: "/webhooks?open=create",
    person: "mira",
    whole: false,
    open: async (page) => {
      await page.locator("[name=url]").fill("https://hooks.example.com/atelier");
      await page.keyboard.press("Enter");
      await page.getByText("whsec_").first().waitFor();
    },
  },
  {
    name: "webhooks-menu",
    path: "/webhooks",
    person: "jonas",
    whole: false,
    open: async (page) => {
      await row(page, "assets").getByRole("button").last().click();
      await page.getByRole("menu").waitFor();
    },
  },
  ofWebhook("render.northlight"),
  ofWebhook("chat.northlight", async (page) => {
    await page.locator("[role=table] button[aria-expanded]:not([aria-haspopup])").nth(1).click();
    await page.getByRole("list").last().waitFor();
  }),
  ofWebhook("pipeline-2.northlight"),
  ofWebhook("assets.northlight"),
  { name: "queue", path: "/message-queue", person: "mira" },
  {
    name: "queue-empty",
    path: "/message-queue",
    person: "mira",
    open: (page) => change(page, { empty: true }),
  },
  {
    name: "queue-message",
    path: "/message-queue",
    person: "mira",
    open: (page) => page.locator("[role=table] button[aria-expanded]:not([aria-haspopup])").nth(3).click(),
  },
  {
    name: "queue-secret",
    path: "/message-queue?open=create",
    person: "mira",
    whole: false,
    open: async (page) => {
      await page.locator("[name=name]").fill("night render");
      await page.keyboard.press("Enter");
      await page.getByText("amq_").first().waitFor();
    },
  },
];
