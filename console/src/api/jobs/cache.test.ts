import { QueryClient } from "@tanstack/react-query";
import { beforeEach, expect, test } from "vitest";
import type { Job, JobId } from "@/api/generated/types";
import { askedAt, expectJob, type JobFilter, jobKeys, knownJob, putJob } from "./cache";

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
    pages: [{ items, next_cursor, unreadable: [] }],
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
  show({ state: "running" }, [make(1)]);
  show({ kind: "generation" }, [make(3)], "c1");
  putJob(client, make(2), askedAt());
  expect(shown()).toEqual(["3 running", "2 running", "1 running"]);
  // it may be on a page that was not read yet
  expect(shown({ kind: "generation" })).toEqual(["3 running"]);
  putJob(client, make(1, { state: "failed" }), askedAt());
  expect(shown({ state: "running" })).toEqual(["2 running"]);
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
