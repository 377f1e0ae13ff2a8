import { expect, test } from "vitest";
import { daysOf, monthStart } from "./month";

const now = Date.parse("2026-11-03T01:00:00Z");

test("the month begins in UTC", () => {
  expect(monthStart(now)).toBe("2026-11-01T00:00:00.000Z");
});

test("days of which the reports say nothing cost nothing, and the others the sum", () => {
  const of = (group: string, amount: string, currency: string | null = "USD") => ({
    group,
    amount,
    currency,
  });
  const jobs = [of("2026-11-02", "0.8"), of("2026-11-03", "0", null), of("2026-11-03", "9", "EUR")];
  expect(daysOf([[of("2026-11-02", "4.20")], jobs], "USD", now)).toEqual([
    { day: "2026-11-01", amount: "0", parts: ["0", "0"] },
    { day: "2026-11-02", amount: "5", parts: ["4.20", "0.8"] },
    { day: "2026-11-03", amount: "0", parts: ["0", "0"] },
  ]);
});
