import { expect, test } from "vitest";
import type { Budget, UsageGroup } from "@/api/generated/types";
import { monthOf, pathOf, spentBy } from "./month";

const day = (group: string, amount: string, currency = "USD") => ({ group, amount, currency }) as UsageGroup;
const now = Date.parse("2026-11-16T00:00:00Z");

test("days add up, and those before the month only count for the week", () => {
  const month = monthOf(
    [day("2026-10-31", "7"), day("2026-11-15", "14"), day("2026-11-14", "0.5")],
    null,
    now,
  );
  expect(month?.sum).toBe(14_500_000n);
  expect(month?.points).toEqual([
    { at: 0, sum: 0n },
    { at: 14 / 30, sum: 500_000n },
    { at: 0.5, sum: 14_500_000n },
  ]);
  expect(month?.perDay).toBe(2_071_428n);
  expect(month?.forecast).toBe(14_500_000n + 2_071_428n * 15n);
});

test("other currencies than the budget's are left out", () => {
  const budget = { terms: { amount: "1", currency: "EUR" } } as Budget;
  expect(monthOf([day("2026-11-15", "14")], budget, now)?.sum).toBe(0n);
  expect(monthOf([], null, now)).toBeNull();
});

test("what is spent goes on at the rate, and never back", () => {
  const budget = { spent: "1.00", rate_per_hour: "3.60" } as Budget;
  expect(spentBy(budget, now, now + 10_000)).toBe(1_010_000n);
  expect(spentBy(budget, now, now - 10_000)).toBe(1_000_000n);
});

test("the line ends at the top if nothing is larger", () => {
  expect(
    pathOf(
      [
        { at: 0, sum: 0n },
        { at: 1, sum: 5n },
      ],
      5n,
      100,
      40,
    ),
  ).toBe("M0.0 40.0L100.0 0.0");
  expect(pathOf([{ at: 0, sum: 0n }], 0n, 100, 40)).toBe("M0.0 40.0");
});
