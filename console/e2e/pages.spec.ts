import type { Page } from "@playwright/test";
import { accessible, expect, fits, type Person, test } from "./fixtures";

interface Listed {
  path: string;
  heading: [en: string, zh: string];
  person?: Person;
}

/** Each page once. */
const pages: Listed[] = [
  { path: "/sign-in", heading: ["Sign in", "登录"] },
  { path: "/overview", heading: ["Overview", "概览"], person: "mira" },
  { path: "/activity", heading: ["Activity", "操作记录"], person: "mira" },
  { path: "/instances", heading: ["Instances", "实例"], person: "mira" },
  { path: "/instances/new", heading: ["Start an instance", "启动实例"], person: "mira" },
  { path: "/storages", heading: ["Storages", "存储"], person: "mira" },
  { path: "/storages/new", heading: ["Create a storage", "创建存储"], person: "mira" },
  { path: "/secrets", heading: ["Secrets", "凭据"], person: "mira" },
  { path: "/jobs", heading: ["Jobs", "任务"], person: "mira" },
  { path: "/jobs/new", heading: ["New pictures", "生成图片"], person: "mira" },
  { path: "/jobs/new?kind=program", heading: ["Run a program", "运行程序"], person: "mira" },
  { path: "/gallery", heading: ["Gallery", "图库"], person: "mira" },
  { path: "/models", heading: ["Models", "模型"], person: "mira" },
  { path: "/training", heading: ["Training", "训练"], person: "mira" },
  { path: "/training/new", heading: ["Train a model", "训练模型"], person: "mira" },
  { path: "/members", heading: ["Members", "成员"], person: "mira" },
  { path: "/api-keys", heading: ["API keys", "API 密钥"], person: "mira" },
  { path: "/usage", heading: ["Usage", "用量"], person: "mira" },
  { path: "/usage/limits", heading: ["Usage", "用量"], person: "mira" },
  { path: "/webhooks", heading: ["Webhooks", "Webhook"], person: "mira" },
  { path: "/message-queue", heading: ["Message queue", "消息队列"], person: "mira" },
  { path: "/account", heading: ["Account", "账户"], person: "mira" },
  { path: "/account/sign-in", heading: ["Account", "账户"], person: "mira" },
  { path: "/account/ssh-keys", heading: ["Account", "账户"], person: "mira" },
  { path: "/account/sessions", heading: ["Account", "账户"], person: "mira" },
  { path: "/admin/stock", heading: ["Stock", "库存"], person: "mara" },
  { path: "/admin/units", heading: ["Units", "单元"], person: "mara" },
  { path: "/admin/gpu-specs", heading: ["GPU specifications", "GPU 规格"], person: "mara" },
  { path: "/admin/gpu-specs/new", heading: ["New specification", "新建规格"], person: "mara" },
  { path: "/admin/storage-specs", heading: ["Storage specifications", "存储规格"], person: "mara" },
  { path: "/admin/services", heading: ["Services", "服务"], person: "mara" },
  { path: "/admin/services/new", heading: ["New version", "新建版本"], person: "mara" },
  { path: "/admin/datacenters", heading: ["Datacenters", "数据中心"], person: "mara" },
  { path: "/admin", heading: ["Platform", "平台"], person: "mara" },
  { path: "/admin/tenants", heading: ["Tenants", "租户"], person: "mara" },
  { path: "/admin/users", heading: ["Users", "用户"], person: "mara" },
  { path: "/admin/instances", heading: ["Instances", "实例"], person: "mara" },
  { path: "/admin/instances/ssh", heading: ["Instances", "实例"], person: "mara" },
  { path: "/admin/storages", heading: ["Storages", "存储"], person: "mara" },
  { path: "/admin/pools", heading: ["Pools", "任务池"], person: "mara" },
  { path: "/admin/pools/new", heading: ["New pool", "新建任务池"], person: "mara" },
  { path: "/admin/health", heading: ["Health", "健康状况"], person: "mara" },
  { path: "/admin/health/logs", heading: ["Health", "健康状况"], person: "mara" },
  { path: "/admin/health/keys", heading: ["Health", "健康状况"], person: "mara" },
  { path: "/admin/audit", heading: ["Audit", "审计"], person: "mara" },
  { path: "/invitations", heading: ["Invitations", "邀请"], person: "lena" },
];

const looks = [
  { name: "light", theme: "light", language: "en", way: "each opened at its address" },
  { name: "dark, Chinese", theme: "dark", language: "zh-CN", way: "each reached from the one before" },
] as const;

/** To an address without a load, as the console's own links do. */
const follow = (page: Page, href: string) =>
  page.evaluate(async (href) => {
    if (!window.__TSR_ROUTER__) throw new Error("the page has no router");
    await window.__TSR_ROUTER__.navigate({ href });
  }, href);

for (const [person, seen] of Map.groupBy(pages, (it) => it.person))
  for (const look of looks)
    test(`the pages of ${person ?? "a visitor"} in ${look.name}, ${look.way}`, async ({
      page,
      as,
      looks,
      faults,
      settled,
    }) => {
      test.setTimeout(60_000 + seen.length * 10_000);
      await looks(look);
      if (person) await as(person);
      const check = async ({ path, heading: [en, zh] }: Listed, first: boolean) => {
        await page.setViewportSize({ width: 1360, height: 860 });
        if (first || look.way === "each opened at its address") await page.goto(path);
        else await follow(page, path);
        const title = look.language === "en" ? en : zh;
        await expect(page.getByRole("heading", { level: 1, name: title })).toBeVisible();
        await expect(page).toHaveTitle(`${title} · Atelier`);
        await settled();
        await accessible(page);
        await fits(page);
        await page.setViewportSize({ width: 1024, height: 768 });
        await fits(page);
        await page.setViewportSize({ width: 390, height: 780 });
        await fits(page);
        await accessible(page);
        expect(faults).toEqual([]);
      };
      const failures: string[] = [];
      for (const [index, one] of seen.entries())
        await test
          .step(one.path, () => check(one, index === 0))
          .catch((error) => {
            // the others are looked at all the same
            failures.push(`${one.path}: ${error}`);
            faults.length = 0;
          });
      expect(failures.join("\n\n")).toBe("");
    });

for (const look of looks)
  test(`the page of parts in ${look.name}, with what opens`, async ({ page, looks }) => {
    test.slow();
    await looks(look);
    await page.goto("/parts.html");
    await accessible(page);
    await fits(page);
    await page.getByRole("button", { name: "Actions" }).click();
    await expect(page.getByRole("menuitem", { name: "Restart" })).toBeVisible();
    await accessible(page);
    await page.keyboard.press("Escape");
    await page.getByRole("combobox", { name: "GPU" }).click();
    await expect(page.getByRole("option", { name: /RTX 3080/ })).toBeVisible();
    await accessible(page);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Dialog" }).click();
    await accessible(page);
    await page.keyboard.press("Escape");
    await expect(page.getByRole("button", { name: "Dialog" })).toBeFocused();
    await page.getByRole("button", { name: "Rename" }).click();
    await accessible(page);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Confirmation" }).click();
    await accessible(page);
    await page.setViewportSize({ width: 390, height: 780 });
    await accessible(page);
    await fits(page);
  });

test("ten thousand rows stay light, and their headings sort", async ({ page }) => {
  await page.goto("/parts.html");
  const table = page.getByRole("table", { name: "Things, 10000" });
  await expect(table.getByText("character-sheets-0", { exact: true })).toBeVisible();
  expect(await table.getByRole("row").count()).toBeLessThan(60);
  await table.getByRole("button", { name: "Name" }).click();
  await expect(table.getByText("character-sheets-9999")).toBeVisible();
  await expect(table.getByRole("columnheader", { name: "Name" })).toHaveAttribute("aria-sort", "descending");
});
