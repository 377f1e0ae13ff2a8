import { expect, test } from "vitest";
import type { Budget, Instance, Job } from "@/api/generated/types";
import { needsOf } from "./needs";

const now = Date.parse("2026-11-27T12:00:00Z");
const instance = (more: Partial<Instance>) =>
  ({
    state: "stopped",
    reason: null,
    managed_by: null,
    idle_stop: null,
    started_at: null,
    ...more,
  }) as Instance;
const job = (ended_at: string) => ({ ended_at }) as Job;
const kinds = (...args: Parameters<typeof needsOf>) => needsOf(...args).map((it) => it.kind);

test("the budget first, then failures, then what is forgotten, then jobs", () => {
  const items = [
    instance({ state: "running", started_at: "2026-11-27T03:00:00Z" }),
    instance({ reason: "node_lost" }),
  ];
  const budget = { starts_refused: false, runs_out_at: "2026-11-28T00:00:00Z" } as Budget;
  expect(kinds(items, budget, [job("2026-11-27T11:00:00Z")], now)).toEqual([
    "budget",
    "failed",
    "forgotten",
    "jobs",
  ]);
});

test("a run that something stops, or that is short, is not forgotten", () => {
  const idle_stop = { idle_since: null, stop_at: null } as Instance["idle_stop"];
  const items = [
    instance({ state: "running", started_at: "2026-11-27T01:00:00Z", idle_stop }),
    instance({ state: "running", started_at: "2026-11-27T05:00:00Z" }),
    instance({ state: "running", started_at: "2026-11-27T01:00:00Z", managed_by: "jobs" }),
  ];
  expect(kinds(items, null, [], now)).toEqual([]);
});

test("an announced stop needs a look, a stop by an idle limit or an old job does not", () => {
  const idle_stop = {
    idle_since: "2026-11-27T11:00:00Z",
    stop_at: "2026-11-27T12:10:00Z",
  } as Instance["idle_stop"];
  expect(kinds([instance({ state: "running", idle_stop })], null, [], now)).toEqual(["idle"]);
  expect(kinds([instance({ reason: "idle_stopped" })], null, [job("2026-11-25T00:00:00Z")], now)).toEqual([]);
});
