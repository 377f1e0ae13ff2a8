import { test } from "./fixtures";
import { jobPictures } from "./pictures/jobs";
import { models } from "./pictures/models";
import { money } from "./pictures/money";
import { platform } from "./pictures/platform";
import { pools } from "./pictures/pools";
import { stock } from "./pictures/stock";
import { storages } from "./pictures/storages";
import { studio } from "./pictures/studio";
import { visitor } from "./pictures/visitor";

/** Each area has a file of its own. */
const pictures = [
  ...jobPictures,
  ...models,
  ...money,
  ...platform,
  ...pools,
  ...stock,
  ...storages,
  ...studio,
  ...visitor,
];

const looks = [
  { look: "light", theme: "light", language: "en", width: 1360 },
  { look: "dark", theme: "dark", language: "en", width: 1360 },
  { look: "chinese", theme: "light", language: "zh-CN", width: 1360 },
  { look: "narrow", theme: "light", language: "en", width: 390 },
] as const;

test.use({ expected: [0, 401, 404, 409, 412, 422] });

for (const { name, path, person, open, whole = true } of pictures)
  for (const { look, width, ...rest } of looks)
    test(`${name} ${look}`, async ({ page, as, settled, looks: choose }) => {
      await page.setViewportSize({ width, height: width < 500 ? 780 : 860 });
      await choose(rest);
      if (person) await as(person);
      await page.goto(path);
      await page.locator("h1").first().waitFor();
      await open?.(page);
      await page.locator("h1").first().waitFor();
      // what a part that is loaded late asks for is there, too
      await settled();
      await settled();
      await page.evaluate(() => document.fonts.ready);
      await page.screenshot({
        path: `pictures/${name}-${look}.png`,
        fullPage: whole,
        animations: "disabled",
      });
    });
