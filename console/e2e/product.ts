import { writeFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { PICTURE } from "../src/features/visitor/picture-size";
import { expect, test } from "./fixtures";

/** So large a picture of the visitor's start page may be. */
const MOST = 60 * 1024;

/** Wide enough for all columns; the picture is smaller, in the same shape. */
const WINDOW = { width: 1344, height: 864 };

interface Product {
  name: string;
  path: string;
  open?: (page: Page) => Promise<void>;
}

const products: Product[] = [
  { name: "overview", path: "/overview" },
  {
    name: "start",
    path: "/instances/new",
    open: (page) => page.getByRole("radio", { name: /RTX 4090/ }).check(),
  },
  {
    name: "instance",
    path: "/instances",
    open: async (page) => {
      await page.getByRole("link", { name: "character-sheets", exact: true }).click();
      await page.getByRole("img", { name: /GPU/ }).first().waitFor();
    },
  },
];

for (const { name, path, open } of products)
  for (const theme of ["light", "dark"] as const)
    test(`${name} ${theme}`, async ({ page, as, looks, settled }) => {
      await page.setViewportSize(WINDOW);
      await looks({ theme });
      await as("mira");
      await page.goto(path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await open?.(page);
      await settled();
      await settled();
      await page.evaluate(() => document.fonts.ready);
      const devtools = await page.context().newCDPSession(page);
      const { data } = await devtools.send("Page.captureScreenshot", {
        format: "webp",
        quality: 78,
        clip: { x: 0, y: 0, ...WINDOW, scale: PICTURE.width / WINDOW.width },
      });
      const bytes = Buffer.from(data, "base64");
      expect(bytes.length).toBeLessThan(MOST);
      writeFileSync(`src/assets/product/${name}-${theme}.webp`, bytes);
    });
