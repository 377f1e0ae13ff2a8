import type { Picture } from "./picture";

export const visitor: Picture[] = [
  { name: "visitor-start", path: "/" },
  { name: "visitor-prices", path: "/prices?gpu=4090-small-4-1&hours=8&days=22&storage=ssd&gib=100" },
  { name: "overview", path: "/overview", person: "mira" },
  { name: "overview-viewer", path: "/overview", person: "jonas" },
  {
    name: "overview-empty",
    path: "/overview",
    person: "mira",
    open: async (page) => {
      await page.request.post("/mock/change", { data: { empty: true } });
      await page.reload();
      await page.getByRole("list").first().waitFor();
    },
  },
  { name: "activity", path: "/activity", person: "mira" },
  {
    name: "activity-open",
    path: "/activity?area=instances",
    person: "mira",
    open: async (page) => page.getByRole("main").getByRole("button").first().click(),
  },
  { name: "activity-viewer", path: "/activity", person: "jonas" },
];
