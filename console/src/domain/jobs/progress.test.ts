import { expect, test } from "vitest";
import type { Job } from "@/api/generated/types";
import { partOf, secondsLeft } from "./progress";

const at = (step: number, steps: number, phase: "loading" | "working" = "working") =>
  ({ progress: { phase, step, steps }, started_at: "2026-11-28T12:00:00Z", attempts: 1 }) as Job;
const now = Date.parse("2026-11-28T12:00:20Z");

test("the part that is done is unknown while the model is loaded", () => {
  expect(partOf(at(0, 20, "loading"))).toBeNull();
  expect(partOf(at(5, 20))).toBe(0.25);
  expect(partOf(at(3, 0))).toBeNull();
  expect(partOf({ progress: null })).toBeNull();
});

test("what is left follows from the pace, once there is one", () => {
  expect(secondsLeft(at(10, 30), now)).toBe(40);
  expect(secondsLeft(at(2, 30), now)).toBeNull();
  expect(secondsLeft(at(30, 30), now)).toBe(1);
  expect(secondsLeft({ ...at(10, 30), started_at: null }, now)).toBeNull();
  expect(secondsLeft({ ...at(10, 30), attempts: 2 }, now)).toBeNull();
});
