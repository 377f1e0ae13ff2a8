import { expect, test } from "vitest";
import type { CapacityUnits, StockCapacity } from "@/api/generated/types";
import { gapsOf, soldOutOf, timesOf } from "./graphs";

const units = (least_available: number, total = 8): CapacityUnits => ({
  available: total / 2,
  inactive: 0,
  used: total / 2,
  total,
  least_available,
});

const capacity = (...steps: (CapacityUnits | null)[]): StockCapacity => ({
  step: "hour",
  from: "2026-03-01T08:00:00Z",
  to: new Date(Date.parse("2026-03-01T08:00:00Z") + steps.length * 3_600_000).toISOString(),
  points: steps.map((it, i) => ({
    at: new Date(Date.parse("2026-03-01T08:00:00Z") + i * 3_600_000).toISOString(),
    units: it,
  })),
});

const eight = Date.parse("2026-03-01T08:00:00Z") / 1000;

test("steps that were not counted are gaps, those beside each other one", () => {
  const of = capacity(units(1), null, null, units(1), null);
  expect(timesOf(of)[1]).toBe(eight + 3600);
  expect(gapsOf(of)).toEqual([
    { from: eight + 3600, to: eight + 3 * 3600 },
    { from: eight + 4 * 3600, to: eight + 5 * 3600 },
  ]);
  expect(gapsOf(capacity(units(1)))).toEqual([]);
});

test("sold out is a counted step with units of which none was free for a moment", () => {
  expect(soldOutOf(capacity(units(0), units(2), null, units(0, 0), units(0)))).toEqual({
    soldOut: 2,
    counted: 3,
  });
  expect(soldOutOf(capacity(null))).toEqual({ soldOut: 0, counted: 0 });
});
