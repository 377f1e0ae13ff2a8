import { expect, test } from "vitest";
import { endedFilter } from "./filter";

test("what has ended last is first, unless the address says otherwise", () => {
  const ends = ["succeeded", "failed", "cancelled", "expired"];
  expect(endedFilter({})).toEqual({ states: ends, sort: "-ended_at" });
  expect(endedFilter({ state: "lost", kind: "training" }).states).toEqual(ends);
  expect(endedFilter({ state: "expired,failed,lost", sort: "-cost" })).toEqual({
    states: ["failed", "expired"],
    sort: "-cost",
  });
});
