import { expect, test } from "vitest";
import { merge } from "./merge";

const at = (minute: number) => ({ at: `2026-11-28T10:${String(minute).padStart(2, "0")}:00Z` });
const minutes = (merged: ReturnType<typeof merge>) => merged.items.map(({ item }) => item.at.slice(14, 16));

test("whole logs are joined by time, newest first", () => {
  const merged = merge([
    { key: "a", items: [at(30), at(10)], hasMore: false },
    { key: "b", items: [at(20)], hasMore: false },
  ]);
  expect(minutes(merged)).toEqual(["30", "20", "10"]);
  expect(merged.items.map((it) => it.source)).toEqual(["a", "b", "a"]);
  expect(merged.waiting).toEqual([]);
});

test("nothing is shown that something unread could come before", () => {
  const merged = merge([
    { key: "a", items: [at(50), at(40)], hasMore: true },
    { key: "b", items: [at(45), at(5)], hasMore: true },
    { key: "c", items: [at(1)], hasMore: false },
  ]);
  expect(minutes(merged)).toEqual(["50", "45", "40"]);
  // reading on in `b` would show nothing new
  expect(merged.waiting).toEqual(["a"]);
});

test("a log of which nothing is read yet hides all, and is read first", () => {
  const merged = merge([
    { key: "a", items: [], hasMore: true },
    { key: "b", items: [at(5)], hasMore: false },
  ]);
  expect(merged.items).toEqual([]);
  expect(merged.waiting).toEqual(["a"]);
});

test("a log that has ended does not hold the others back", () => {
  const merged = merge([
    { key: "a", items: [], hasMore: false },
    { key: "b", items: [at(9), at(8)], hasMore: true },
  ]);
  expect(minutes(merged)).toEqual(["09", "08"]);
  expect(merged.waiting).toEqual(["b"]);
});
