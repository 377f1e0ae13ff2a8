import { QueryClient } from "@tanstack/react-query";
import { beforeEach, expect, test } from "vitest";
import type { Job, JobId } from "@/api/generated/types";
import {
  askedAt,
  expectJob,
  type JobFilter,
  type JobLists,
  type JobSort,
  jobKeys,
  knownJob,
  putJob,
} from "./cache";

let client: QueryClient;
let n = 0;

beforeEach(() => {
  client = new QueryClient();
  n += 100;
});

const make = (id: number, more: Partial<Job> = {}) =>
  ({
    id: `job_${String(n + id).padStart(4, "0")}` as JobId,
    state: "running",
    kind: "generation",
    ...more,
  }) as Job;

const show = (filter: JobFilter, items: Job[], next_cursor: string | null = null) =>
  client.setQueryData(jobKeys.list(filter), {
    pages: [{ items, next_cursor, unreadable: [], total: null }],
    pageParams: [null],
  });

const shown = (filter: JobFilter = {}) =>
  (client.getQueryData<{ pages: { items: Job[] }[] }>(jobKeys.list(filter))?.pages ?? []).flatMap((page) =>
    page.items.map(({ id, state }) => `${Number(id.slice(4)) - n} ${state}`),
  );

test("an answer that was asked for earlier never wins", () => {
  show({}, [make(1)]);
  const [early, late] = [askedAt(), askedAt()];
  putJob(client, make(1, { state: "cancelling" }), late);
  putJob(client, make(1, { state: "running" }), early);
  expect(shown()).toEqual(["1 cancelling"]);
});

test("what has ended stays ended", () => {
  show({}, [make(1)]);
  putJob(client, make(1, { state: "succeeded" }), askedAt());
  putJob(client, make(1, { state: "running" }), askedAt());
  expect(shown()).toEqual(["1 succeeded"]);
});

test("a new one takes its place, and one that stopped matching leaves its list", () => {
  show({}, [make(3), make(1)]);
  show({ states: ["running"] }, [make(1)]);
  show({ kind: "generation" }, [make(3)], "c1");
  putJob(client, make(2), askedAt());
  expect(shown()).toEqual(["3 running", "2 running", "1 running"]);
  // it may be on a page that was not read yet
  expect(shown({ kind: "generation" })).toEqual(["3 running"]);
  putJob(client, make(1, { state: "failed" }), askedAt());
  expect(shown({ states: ["running"] })).toEqual(["2 running"]);
});

test("a new one takes its place in each order, and the total counts it", () => {
  const cost = (amount: string) => ({ amount, currency: "USD", seconds: 1 });
  const ended = (id: number, second: string, amount?: string) =>
    make(id, {
      state: "succeeded",
      ended_at: `2026-11-28T10:00:${second}Z`,
      cost: amount ? cost(amount) : null,
    });
  const all = [ended(3, "01.5", "0.2"), ended(2, "01.25", "10"), ended(1, "00", "9")];
  const orders = {
    "-ended_at": [0, 1, 2],
    ended_at: [2, 1, 0],
    "-cost": [1, 2, 0],
    cost: [0, 2, 1],
  } as const;
  for (const sort of ["-ended_at", "ended_at", "-cost", "cost"] as const)
    client.setQueryData(jobKeys.list({ sort }), {
      pages: [
        {
          items: orders[sort].map((index) => all[index]),
          next_cursor: null,
          unreadable: [],
          total: { count: 3, is_exact: true },
        },
      ],
      pageParams: [null],
    });
  putJob(client, ended(4, "01.3", "9.5"), askedAt());
  const ids = (sort: JobSort) => shown({ sort }).map((it) => Number(it.split(" ")[0]));
  expect(ids("-ended_at")).toEqual([3, 4, 2, 1]);
  expect(ids("ended_at")).toEqual([1, 2, 4, 3]);
  expect(ids("-cost")).toEqual([2, 4, 1, 3]);
  expect(ids("cost")).toEqual([3, 1, 4, 2]);
  const total = client.getQueryData<JobLists>(jobKeys.list({ sort: "cost" }))?.pages[0]?.total;
  expect(total).toEqual({ count: 4, is_exact: true });
});

test("a press is shown at once, and put back by a refusal unless something newer has come", () => {
  show({}, [make(1), make(0)]);
  expectJob(client, make(1).id, { state: "cancelling" })();
  expect(knownJob(client, make(1).id)?.state).toBe("running");
  const undo = expectJob(client, make(0).id, { state: "cancelling" });
  expect(shown()).toEqual(["1 running", "0 cancelling"]);
  putJob(client, make(0, { state: "succeeded" }), askedAt());
  undo();
  expect(shown()).toEqual(["1 running", "0 succeeded"]);
});

test("the answer to a press counts, also when something else was expected", () => {
  show({}, [make(1, { state: "queued" })]);
  const asked = askedAt();
  expectJob(client, make(1).id, { state: "cancelled" });
  putJob(client, make(1, { state: "queued" }), asked);
  expect(shown()).toEqual(["1 cancelled"]);
  putJob(client, make(1, { state: "cancelling" }), askedAt());
  expect(shown()).toEqual(["1 cancelling"]);
});
