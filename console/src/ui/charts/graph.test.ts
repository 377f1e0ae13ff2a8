import { expect, test } from "vitest";
import { topOf } from "./graph";

test("an axis of counts ends at an even number near the most, and its middle is a plain one", () => {
  expect([0, 1, 3, 5, 7, 15, 24, 96, 182, 444].map(topOf)).toEqual([2, 2, 4, 6, 8, 16, 30, 100, 200, 500]);
});
