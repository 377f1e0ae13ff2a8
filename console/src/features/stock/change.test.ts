import { expect, test } from "vitest";
import type { StockRow } from "@/api/generated/types";
import { isPrice, planOf, riseOf } from "./change";

const row = { available: 8, inactive: 3, used: 32, total: 43 } as StockRow;

test("more than are available are added, and inactive units stay", () => {
  expect(planOf(row, 12)).toEqual({
    units: 4,
    inactive: 0,
    after: { available: 12, inactive: 3, used: 32, total: 47 },
  });
});

test("fewer are removed, and the inactive ones go first", () => {
  expect(planOf(row, 5)).toEqual({
    units: -6,
    inactive: 3,
    after: { available: 5, inactive: 0, used: 32, total: 37 },
  });
  expect(planOf({ ...row, inactive: 0 }, 5).units).toBe(-3);
});

test("as many as there are is no change", () => {
  expect(planOf(row, 8)).toEqual({
    units: 0,
    inactive: 0,
    after: { available: 8, inactive: 3, used: 32, total: 43 },
  });
});

test("prices are decimal numbers of at most six digits after the point", () => {
  for (const text of ["0", "0.2", "1000000", "0.000001"]) expect([text, isPrice(text)]).toEqual([text, true]);
  for (const text of ["", "-1", ".2", "1000000.1", "0.0000001", "0,2", "1e3"])
    expect([text, isPrice(text)]).toEqual([text, false]);
  expect(riseOf("0.20", "0.2")).toBe(0);
  expect(riseOf("0.20", "0.19")).toBe(-1);
});
