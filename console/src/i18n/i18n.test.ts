import { expect, test } from "vitest";
import { textOf } from ".";
import { en as early, late } from "./en";
import { zhCN as earlyChinese, late as lateChinese } from "./zh-CN";

const all = async (early: object, late: Record<string, () => Promise<object>>) => ({
  ...early,
  ...Object.fromEntries(
    await Promise.all(Object.entries(late).map(async ([area, load]) => [area, await load()] as const)),
  ),
});
const en = await all(early, late);
const zhCN = await all(earlyChinese, lateChinese);

const leaves = (at: object, path = ""): [string, string][] =>
  Object.entries(at).flatMap(([name, value]) =>
    typeof value === "string"
      ? [[`${path}${name}`, value] as [string, string]]
      : leaves(value, `${path}${name}.`),
  );
const names = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((it) => it[1]).sort();

test("Chinese needs the same values as English", () => {
  const chinese = new Map(leaves(zhCN));
  for (const [key, text] of leaves(en)) {
    // Chinese has one form for any number
    if (key.endsWith(".one")) continue;
    expect([key, names(chinese.get(key) ?? "")]).toEqual([key, names(text)]);
  }
});

test("Chinese texts are Chinese", () => {
  for (const [key, text] of leaves(zhCN)) {
    // values and signs between them have no language, and single words may be names
    const words = text.replace(/\{\w+\}/g, "");
    if (/\p{L}/u.test(words) && !/^[\w\s·/–，]*$/.test(words))
      expect([key, /\p{Script=Han}/u.test(words)]).toEqual([key, true]);
  }
});

test("numbers pick the form and are written as the reader writes them", () => {
  const t = textOf("en", en);
  expect(t("members.people", { count: 1 })).toBe("1 person");
  expect(t("members.people", { count: 1200 })).toBe("1,200 people");
  expect(textOf("zh-CN", zhCN)("members.people", { count: 1 })).toBe("1 人");
});
