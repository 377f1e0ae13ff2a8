import { expect, test } from "vitest";
import type { MeteredRun } from "@/api/generated/types";
import { parseAmount } from "@/lib/money";
import { midnights, weekOf } from "./week";

const NOW = new Date(2026, 10, 26, 15, 20).getTime();
const HOUR = 3_600_000;

const run = (from: number, to: number | null, more: Partial<MeteredRun> = {}): MeteredRun => {
  const seconds = ((to ?? NOW) - from) / 1000;
  return {
    id: `run_${from}` as MeteredRun["id"],
    kind: "running",
    started_at: new Date(from).toISOString(),
    ended_at: to === null ? null : new Date(to).toISOString(),
    end_reason: null,
    correction: null,
    seconds,
    price_per_hour: "0.74",
    currency: "USD",
    // as the API rounds: half up, to six places
    amount: (Math.round(((0.74 * seconds) / 3600) * 1e6) / 1e6).toFixed(6),
    ...more,
  };
};

test("seven days end with today's midnight", () => {
  const marks = midnights(NOW);
  expect(marks).toHaveLength(8);
  expect(new Date(marks[7] as number)).toEqual(new Date(2026, 10, 27));
  expect(new Date(marks[0] as number)).toEqual(new Date(2026, 10, 20));
});

test("the days' costs add up to the bill, also of runs over midnight", () => {
  const midnight = midnights(NOW)[4] as number;
  const runs = [
    run(NOW - 4 * HOUR - 3 * 60_000, null),
    run(midnight - 2 * HOUR - 17_000, midnight + 31 * HOUR + 1000),
    run(midnight - 30 * HOUR, midnight - 29 * HOUR + 7000),
  ];
  const week = weekOf(runs, NOW);
  const days = week.days.reduce((sum, day) => sum + (day.cost.get("USD") ?? 0n), 0n);
  expect(days).toBe(week.cost.get("USD"));
  const bill = runs.slice(1).reduce((sum, one) => sum + parseAmount(one.amount), 0n);
  const open = (parseAmount("0.74") * BigInt(4 * 3600 + 180)) / 3600n;
  expect(week.cost.get("USD")).toBe(bill + open);
  expect(week.days.filter((day) => day.cost.size > 0)).toHaveLength(5);
  expect(week.seconds).toBe(runs.reduce((sum, one) => sum + one.seconds, 0));
});

test("of a run from before the days, only the part within them counts", () => {
  const begin = midnights(NOW)[0] as number;
  const week = weekOf([run(begin - 3 * HOUR, begin + HOUR)], NOW);
  expect(week.pieces).toMatchObject([{ from: begin, to: begin + HOUR }]);
  expect(week.seconds).toBe(3600);
  // 2.96 in all, 2.22 of it before
  expect(week.cost.get("USD")).toBe(parseAmount("0.74"));
});

test("a hold costs, and is no run; currencies are not added", () => {
  const today = NOW - HOUR;
  const week = weekOf(
    [
      run(today, null, { kind: "held", price_per_hour: "0.30" }),
      run(today - 2 * HOUR, today - HOUR, { currency: "EUR" }),
    ],
    NOW,
  );
  expect(week.runs).toBe(1);
  expect(week.cost.get("USD")).toBe(300_000n);
  expect(week.cost.get("EUR")).toBe(740_000n);
  expect(week.pieces.map((piece) => piece.held)).toEqual([false, true]);
});
