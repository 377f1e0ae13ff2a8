import { expect, test } from "vitest";
import type { JobAttempt } from "@/api/generated/types";
import { spentOf } from "./standing";

const start = Date.parse("2026-11-28T12:00:00Z");
const attempt = (more: Partial<JobAttempt> = {}) =>
  ({
    attempt: 1,
    working_at: new Date(start).toISOString(),
    ended_at: null,
    price_per_hour: "0.72",
    level_factor: "1.5",
    currency: "USD",
    cost: null,
    ...more,
  }) as JobAttempt;

test("what is open costs by the clock, at the price and factor of its assignment", () => {
  const closed = attempt({ ended_at: "2026-11-28T11:00:00Z", cost: "0.05" });
  expect(spentOf([attempt(), closed], start + 600_000)).toEqual({ amount: 230_000n, currency: "USD" });
  expect(spentOf([attempt({ working_at: null })], start + 600_000)?.amount).toBe(0n);
});

test("without a price nothing is said of the cost", () => {
  expect(spentOf([attempt({ price_per_hour: null })], start)).toBeNull();
  expect(spentOf([], start)).toBeNull();
});
