import { expect, test } from "vitest";
import type { Instance } from "@/api/generated/types";
import { summaryOf } from "./summary";

const make = (more: Partial<Instance>) =>
  ({
    state: "stopped",
    reason: null,
    hold: null,
    price_per_hour: "0.20",
    currency: "USD",
    ...more,
  }) as Instance;

test("counts what runs and adds its prices exactly, by currency", () => {
  const summary = summaryOf([
    make({ state: "running", price_per_hour: "0.1" }),
    make({ state: "running", price_per_hour: "0.2" }),
    make({ state: "running", price_per_hour: "1.5", currency: "EUR" }),
    make({ state: "starting" }),
    make({}),
  ]);
  expect(summary.running).toBe(3);
  expect([...summary.rate]).toEqual([
    ["USD", 300_000n],
    ["EUR", 1_500_000n],
  ]);
});

test("a stop by an idle limit is no failure, a lost node is", () => {
  const summary = summaryOf([
    make({ reason: "idle_stopped" }),
    make({ reason: "node_lost" }),
    make({ state: "pending", reason: "queued" }),
  ]);
  expect([summary.failed, summary.waiting]).toEqual([1, 1]);
});

test("a hold counts once it is billed", () => {
  const hold = { since: null, until: "", price_per_hour: "0.296", currency: "USD" };
  const summary = summaryOf([make({ hold }), make({ hold: { ...hold, since: "2026-11-27T12:00:00Z" } })]);
  expect(summary.held).toBe(1);
  expect(summary.heldRate.get("USD")).toBe(296_000n);
});
