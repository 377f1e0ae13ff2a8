import { openSidebar, type Picture } from "./picture";

/** Instances have ids of their own in each backend: they are gone to by their name. */
const ofInstance = (name: string, tab = ""): Picture => ({
  name: `instance-${name}${tab ? `-${tab}` : ""}`,
  path: "/instances",
  person: "mira",
  open: async (page) => {
    await page.getByRole("link", { name, exact: true }).first().click();
    await page.getByRole("heading", { level: 1, name }).waitFor();
    if (tab) await page.goto(`${page.url()}/${tab}`);
    if (tab === "log") await page.getByRole("log").getByText("saved").first().waitFor();
    else if (tab === "terminal") await page.locator(".xterm-rows").getByText("root@").first().waitFor();
    else if (!tab) await page.getByRole("img").first().waitFor();
  },
});

export const studio: Picture[] = [
  ...[
    "character-sheets",
    "texture-tests",
    "winter-pass",
    "cover-art",
    "trailer-frames",
    "lora-heroine",
    "props-and-weapons",
    "dungeon-tiles",
  ].map((name) => ofInstance(name)),
  ...["log", "terminal", "access", "runs", "settings"].map((tab) => ofInstance("character-sheets", tab)),
  { name: "sign-in", path: "/sign-in" },
  {
    name: "sign-in-wrong",
    path: "/sign-in",
    open: async (page) => {
      await page.locator("[name=email]").fill("mira@northlight.studio");
      await page.locator("[name=password]").fill("wrong");
      await page.keyboard.press("Enter");
      await page.getByRole("alert").filter({ hasText: /./ }).first().waitFor();
    },
  },
  {
    name: "sign-in-factor",
    path: "/sign-in",
    open: async (page) => {
      await page.locator("[name=email]").fill("tomas@northlight.studio");
      await page.locator("[name=password]").fill("northlight");
      await page.keyboard.press("Enter");
      await page.locator("[name=code]").waitFor();
    },
  },
  { name: "invitations", path: "/invitations", person: "lena" },
  { name: "invitations-none", path: "/invitations", person: "ines" },
  { name: "instances", path: "/instances", person: "mira" },
  { name: "instances-viewer", path: "/instances", person: "jonas" },
  {
    name: "instances-chosen",
    path: "/instances",
    person: "mira",
    open: async (page) => {
      for (const name of ["storyboard", "lora-heroine", "poster-march"])
        await page.getByRole("row").filter({ hasText: name }).getByRole("checkbox").check();
    },
  },
  {
    name: "instances-menu",
    whole: false,
    path: "/instances",
    person: "mira",
    open: async (page) => {
      await page.getByRole("row").filter({ hasText: "trailer-frames" }).getByRole("button").last().click();
      await page.getByRole("menu").waitFor();
    },
  },
  {
    name: "instances-delete",
    path: "/instances",
    person: "mira",
    whole: false,
    open: async (page) => {
      await page.getByRole("row").filter({ hasText: "character-sheets" }).getByRole("button").last().click();
      await page.getByRole("menuitem").last().click();
      await page.getByRole("alertdialog").getByText("heroine-sheets").waitFor();
    },
  },
  {
    name: "instances-empty",
    path: "/instances",
    person: "mira",
    open: async (page) => {
      await page.request.post("/mock/change", { data: { empty: true } });
      await page.reload();
    },
  },
  { name: "instances-none-found", path: "/instances?name=zzz", person: "mira" },
  {
    name: "start",
    path: "/instances/new?gpu=4090-small-4-1",
    person: "mira",
    open: async (page) => void (await page.getByRole("status").filter({ hasText: "uk-1" }).first().waitFor()),
  },
  {
    name: "start-full",
    path: "/instances/new?gpu=a100-small-4-1",
    person: "mira",
    open: async (page) => void (await page.getByRole("status").filter({ hasText: "14" }).first().waitFor()),
  },
  {
    name: "start-existing",
    path: "/instances/new",
    person: "ines",
    open: async (page) => {
      await page.locator("[name=storage][value=existing]").check();
      await page.locator("[name=gpu_spec][value=h100-small-16-1]").click({ force: true });
      const parts = page.locator("form button[aria-controls]:not([role])");
      for (const i of [0, 1]) await parts.nth(i).click();
    },
  },
  {
    name: "start-errors",
    path: "/instances/new",
    person: "mira",
    open: async (page) => {
      await page.locator("[name='new_storage.name']").fill("");
      await page.locator("[name='idle_stop.after_seconds']").fill("5");
      await page.locator("[name=name]").press("Enter");
      await page.locator("[aria-invalid=true]").first().waitFor();
    },
  },
  { name: "members", path: "/members", person: "mira" },
  { name: "members-viewer", path: "/members", person: "jonas" },
  { name: "members-invite", path: "/members?open=invite", person: "mira" },
  {
    name: "members-remove",
    path: "/members",
    person: "mira",
    open: async (page) => {
      await page.getByRole("row", { name: /Jonas/ }).getByRole("button").last().click();
      await page.getByRole("menuitem").click();
      await page.getByRole("alertdialog").waitFor();
    },
  },
  { name: "keys", path: "/api-keys", person: "mira" },
  { name: "keys-none", path: "/api-keys", person: "ines" },
  {
    name: "keys-create",
    path: "/api-keys?open=create",
    person: "mira",
    open: async (page) => {
      await page.getByRole("dialog").getByRole("combobox").first().click();
      await page.getByRole("option").last().click();
    },
  },
  {
    name: "keys-shown",
    path: "/api-keys?open=create",
    person: "mira",
    open: async (page) => {
      await page.locator("[name=name]").fill("nightly backup");
      await page.keyboard.press("Enter");
      await page.getByText("atl_4kTmQ8sVw2").first().waitFor();
    },
  },
  { name: "account", path: "/account", person: "mira" },
  { name: "account-sign-in", path: "/account/sign-in", person: "tomas" },
  {
    name: "account-factor",
    path: "/account/sign-in",
    person: "mira",
    open: async (page) => {
      await page.getByRole("region").first().getByRole("button").last().click();
      await page.getByRole("dialog").getByRole("img").waitFor();
    },
  },
  { name: "account-sessions", path: "/account/sessions", person: "mira" },
  {
    name: "studios",
    path: "/members",
    person: "jonas",
    open: async (page) => {
      await openSidebar(page);
      await page.getByRole("button", { name: /Northlight Studio/ }).click();
      await page.getByRole("menu").waitFor();
    },
  },
  {
    name: "person",
    path: "/members",
    person: "mira",
    open: async (page) => {
      await openSidebar(page);
      await page.getByRole("button", { name: /Mira Okafor mira@/ }).click();
      await page.getByRole("menu").waitFor();
    },
  },
  {
    name: "palette",
    path: "/members",
    person: "mira",
    open: async (page) => {
      await page.getByRole("table").first().waitFor();
      await page.keyboard.press("ControlOrMeta+k");
      await page.getByRole("listbox").waitFor();
    },
  },
  {
    name: "keys-help",
    path: "/members",
    person: "mira",
    open: async (page) => {
      await page.getByRole("table").first().waitFor();
      await page.keyboard.press("?");
      await page.getByRole("dialog").waitFor();
    },
  },
  { name: "not-found", path: "/nothing-here", person: "mira" },
  { name: "parts", path: "/parts.html" },
];
