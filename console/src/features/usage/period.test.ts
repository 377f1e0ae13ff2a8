import { expect, test } from "vitest";
import { daysOf, windowOf } from "./period";

const now = Date.parse("2026-11-26T14:02:09.700Z");
const said = (choice: Parameters<typeof windowOf>[0], at = now) => {
  const { from, to, end } = windowOf(choice, at);
  return [from, to, end].map((it) => new Date(it).toISOString().replace(".000Z", "Z"));
};

test("a period is known until now, or until its end", () => {
  expect(said({})).toEqual(["2026-11-01T00:00:00Z", "2026-11-26T14:02:09Z", "2026-12-01T00:00:00Z"]);
  expect(said({ period: "last-month" })).toEqual([
    "2026-10-01T00:00:00Z",
    "2026-11-01T00:00:00Z",
    "2026-11-01T00:00:00Z",
  ]);
  expect(said({ period: "7d" })[0]).toBe("2026-11-20T00:00:00Z");
  expect(said({ period: "last-month" }, Date.parse("2026-01-05T00:00:00Z"))[0]).toBe("2025-12-01T00:00:00Z");
});

test("an own period has both days", () => {
  expect(said({ period: "own", from: "2026-11-03", to: "2026-11-05" })).toEqual([
    "2026-11-03T00:00:00Z",
    "2026-11-06T00:00:00Z",
    "2026-11-06T00:00:00Z",
  ]);
  expect(said({ period: "own", from: "2026-11-20", to: "2027-03-01" })[2]).toBe("2026-11-27T00:00:00Z");
  expect(daysOf(windowOf({ period: "own", from: "2020-01-01", to: "2026-11-26" }, now))).toHaveLength(366);
});

test("days that make no period are this month", () => {
  for (const choice of [
    {},
    { from: "2026-11-05", to: "2026-11-03" },
    { from: "x", to: "y" },
    { from: "2026-12-24", to: "2026-12-25" },
  ])
    expect(said({ period: "own", ...choice })[0]).toBe("2026-11-01T00:00:00Z");
});

test("the first second of a month is a window, too", () => {
  const { from, to } = windowOf({}, Date.parse("2026-11-01T00:00:00.200Z"));
  expect(to - from).toBe(1000);
});
