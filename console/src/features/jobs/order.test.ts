import { expect, test } from "vitest";
import type { Job } from "@/api/generated/types";
import { endedSince, inOrder } from "./order";

const make = (id: number, more: Partial<Job>) =>
  ({ id: `job_${id}`, level: "ordinary", priority: 5, state: "queued", ...more }) as Job;

test("those that run come first, then the order in which one's own start", () => {
  const items = [
    make(1, { priority: 3 }),
    make(2, {}),
    make(3, { level: "urgent", priority: 0 }),
    make(4, { state: "running" }),
    make(5, {}),
    make(6, { state: "assigned" }),
    make(7, { level: "background", priority: 9 }),
  ];
  expect(inOrder(items).map((it) => it.id.slice(4))).toEqual(["4", "6", "3", "2", "5", "1", "7"]);
});

test("what ended today, with its costs", () => {
  const midnight = Date.parse("2026-11-28T00:00:00Z");
  const cost = { amount: "0.2", currency: "USD", seconds: 3 };
  const found = endedSince(
    [
      make(1, { ended_at: "2026-11-27T23:59:59Z", cost }),
      make(2, { ended_at: "2026-11-28T00:00:01Z", cost }),
      make(3, { ended_at: "2026-11-28T10:00:00Z" }),
      make(4, { ended_at: null }),
    ],
    midnight,
  );
  expect(found).toEqual({ count: 2, costs: [cost] });
});
