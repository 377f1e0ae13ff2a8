import { expect, test } from "vitest";
import type { Instance } from "@/api/generated/types";
import { isFailed, standingOf } from "./standing";

const make = (state: Instance["state"], more: Partial<Instance> = {}) =>
  ({ state, reason: null, message: null, hold: null, ...more }) as Instance;

const stands = (it: Instance) => {
  const { mark, word } = standingOf(it);
  return `${mark} ${word.split(".")[1]}`;
};

test("each state has a mark and a word", () => {
  expect(stands(make("pending"))).toBe("moves starting");
  expect(stands(make("pending", { reason: "queued" }))).toBe("moves waiting");
  expect(stands(make("starting", { reason: "restarting" }))).toBe("moves restarting");
  expect(stands(make("running"))).toBe("runs running");
  expect(stands(make("stopped"))).toBe("rests stopped");
  expect(stands(make("stopped", { hold: {} as Instance["hold"] }))).toBe("rests held");
});

test("a stop on purpose is no failure; what never ran did not start", () => {
  expect(stands(make("stopped", { reason: "budget_exhausted" }))).toBe("rests stopped");
  expect(stands(make("stopped", { reason: "image_pull_failed" }))).toBe("failed notStarted");
  expect(stands(make("stopped", { reason: "node_lost" }))).toBe("failed failed");
  expect(isFailed(make("stopping", { reason: "node_lost" }))).toBe(false);
});
