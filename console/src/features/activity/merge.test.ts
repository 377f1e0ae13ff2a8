import { expect, test } from "vitest";
import type { AuditEntry } from "@/api/generated/types";
import { emptyOf, isEnd, takeNewest } from "./merge";

const entry = (number: number, minute: number) =>
  ({ number, at: `2026-11-27T12:${String(minute).padStart(2, "0")}:00Z` }) as AuditEntry;

test("entries of all logs come in the order of time, as long as no log has to be read further", () => {
  const { items, rests } = takeNewest(
    {
      people: { entries: [entry(2, 50), entry(1, 10)], cursor: null },
      instances: { entries: [entry(9, 40), entry(8, 30)], cursor: "c2" },
    },
    50,
  );
  expect(items.map((it) => `${it.source} ${it.number}`)).toEqual(["people 2", "instances 9", "instances 8"]);
  expect(emptyOf(rests)).toEqual(["instances"]);
  expect(isEnd(rests)).toBe(false);
});

test("what does not fit on a page is the next one's, and the order of equal times is that of the logs", () => {
  const first = takeNewest(
    {
      jobs: { entries: [entry(1, 5)], cursor: null },
      people: { entries: [entry(1, 5)], cursor: null },
    },
    1,
  );
  expect(first.items.map((it) => it.source)).toEqual(["people"]);
  const second = takeNewest(first.rests, 1);
  expect(second.items.map((it) => it.source)).toEqual(["jobs"]);
  expect(isEnd(second.rests)).toBe(true);
});
