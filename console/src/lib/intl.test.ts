import { expect, test } from "vitest";
import { dateFormat, formatNumber } from "./intl";

test.each(["en", "zh-CN"])("numbers are written as %s does", (language) => {
  for (const value of [0, 7, 999, 1000, 12_345, 1_234_567, 100_000_000, -1, -1234, 0.5, 61.25, 1e21])
    expect(formatNumber(value, language)).toBe(value.toLocaleString(language));
});

test("formatters of other options or languages are others", () => {
  const day = { day: "numeric" } as const;
  expect(dateFormat("en-GB", day)).toBe(dateFormat("en-GB", { day: "numeric" }));
  expect(dateFormat("en-GB", day)).not.toBe(dateFormat("zh-CN", day));
  expect(dateFormat("en-GB", day)).not.toBe(dateFormat("en-GB", { day: "2-digit" }));
});
