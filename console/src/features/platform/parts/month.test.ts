import { expect, test } from "vitest";
import { daysOf, monthStart } from "./month";

const now = Date.parse("2026-11-03T01:00:00Z");

test("the month begins in UTC", () => {
  expect(monthStart(now)).toBe("2026-11-01T00:00:00.000Z");
});

test("days of which the list says nothing cost nothing", () => {
  expect(daysOf([{ group: "2026-11-02", amount: "4.20" }], now)).toEqual([
    { day: "2026-11-01", amount: "0" },
    { day: "2026-11-02", amount: "4.20" },
    { day: "2026-11-03", amount: "0" },
  ]);
});
