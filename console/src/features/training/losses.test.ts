import { expect, test } from "vitest";
import { parseLosses, roundUp, smoothed } from "./losses";

test("lines of the file are steps and losses", () => {
  expect(parseLosses("step,loss\n1,0.5\n2,nan\n3,0.25\n")).toEqual({ steps: [1, 3], values: [0.5, 0.25] });
  expect(parseLosses("")).toEqual({ steps: [], values: [] });
});

test("a smoothed line begins with the first value, and follows slowly", () => {
  const line = smoothed([1, 1, 0, 0, 0], 3);
  expect(line[0]).toBe(1);
  expect(line[1]).toBe(1);
  expect(line[2]).toBeGreaterThan(0.3);
  expect(line[4]).toBeLessThan(line[3] ?? 0);
});

test("the top of the axis is a round number", () => {
  expect(roundUp(0.1672)).toBeCloseTo(0.18);
  expect(roundUp(1.01)).toBeCloseTo(1.2);
  expect(roundUp(0)).toBe(1);
});
