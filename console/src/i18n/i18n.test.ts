import { expect, test } from "vitest";
import { textOf } from ".";
import { en } from "./en";
import { zhCN } from "./zh-CN";

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
  for (const [key, text] of leaves(zhCN))
    if (!/^[{}\w\s·/–，]*$/.test(text)) expect([key, /\p{Script=Han}/u.test(text)]).toEqual([key, true]);
});

test("numbers pick the form and are written as the reader writes them", () => {
  const t = textOf("en", en);
  expect(t("members.people", { count: 1 })).toBe("1 person");
  expect(t("members.people", { count: 1200 })).toBe("1,200 people");
  expect(textOf("zh-CN", zhCN)("members.people", { count: 1 })).toBe("1 人");
});
