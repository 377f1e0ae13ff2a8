import { expect, test } from "vitest";
import type { AuditEntry } from "@/api/generated/types";
import { isEnd, type Rest, takeNewest, toRead } from "./newest";

const entry = (number: number, at: string) => ({ number, at: `2026-11-27T12:${at}Z` }) as AuditEntry;
const rests = (logs: Record<string, Rest>) => new Map(Object.entries(logs));
const shown = ({ items }: ReturnType<typeof takeNewest>) => items.map((it) => `${it.log} ${it.number}`);

test("entries of all logs come in the order of time, as long as no log has to be read further", () => {
  const taken = takeNewest(
    rests({
      people: { entries: [entry(2, "50:00"), entry(1, "10:00")], cursor: null },
      instances: { entries: [entry(9, "40:00.5"), entry(8, "40:00.25")], cursor: "c2" },
    }),
    50,
  );
  expect(shown(taken)).toEqual(["people 2", "instances 9", "instances 8"]);
  expect(toRead(taken.rests)).toEqual(["instances"]);
  expect(isEnd(taken.rests)).toBe(false);
});

test("what does not fit on a page is the next one's, and the order of equal times is that of the logs", () => {
  const first = takeNewest(
    rests({
      people: { entries: [entry(1, "05:00")], cursor: null },
      jobs: { entries: [entry(1, "05:00")], cursor: null },
    }),
    1,
  );
  expect(shown(first)).toEqual(["people 1"]);
  const second = takeNewest(first.rests, 1);
  expect(shown(second)).toEqual(["jobs 1"]);
  expect(isEnd(second.rests)).toBe(true);
});

test("a log of which nothing is read yet hides all, and one that has ended holds nothing back", () => {
  const ended = { entries: [], cursor: null };
  const unread = takeNewest(
    rests({ a: { entries: [], cursor: "" }, b: { entries: [entry(1, "05:00")], cursor: null } }),
    9,
  );
  expect([shown(unread), toRead(unread.rests)]).toEqual([[], ["a"]]);
  expect(
    shown(takeNewest(rests({ a: ended, b: { entries: [entry(1, "05:00")], cursor: null } }), 9)),
  ).toEqual(["b 1"]);
});
