import { expect, test } from "vitest";
import { filterOf } from "./filter";

test("an address names several states, and those that do not exist are left out", () => {
  expect(filterOf({})).toEqual({ states: [] });
  expect(filterOf({ name: "a", state: "running" })).toEqual({ name: "a", states: ["running"] });
  expect(filterOf({ state: "stopped,lost,pending,stopped" })).toEqual({ states: ["pending", "stopped"] });
});
