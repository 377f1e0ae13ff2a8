import { expect, test } from "vitest";
import type { InstanceId } from "@/api/generated/types";
import { lastDay } from "./strip";

const now = Date.parse("2026-11-27T12:00:00Z");
const id = "inst_1" as InstanceId;
const run = (from: string, to: string) => ({ instance_id: id, started_at: from, ended_at: to });
const stopped = { id, state: "stopped", started_at: null } as const;

test("runs are cut at a day ago, and those of others do not count", () => {
  const day = lastDay(
    stopped,
    {
      known_since: null,
      runs: [
        run("2026-11-26T09:00:00Z", "2026-11-26T15:00:00Z"),
        run("2026-11-25T09:00:00Z", "2026-11-25T15:00:00Z"),
        { ...run("2026-11-27T09:00:00Z", "2026-11-27T10:00:00Z"), instance_id: "inst_2" as InstanceId },
      ],
    },
    now,
  );
  expect(day).toEqual({ pieces: [{ from: 0, to: 0.125, open: false }], seconds: 3 * 3600, known: 0 });
});

test("the open run reaches until now", () => {
  const running = { id, state: "running", started_at: "2026-11-27T06:00:00Z" } as const;
  const day = lastDay(running, { known_since: null, runs: [] }, now);
  expect(day.pieces).toEqual([{ from: 0.75, to: 1, open: true }]);
});

test("before the oldest run that was told, nothing is known", () => {
  expect(lastDay(stopped, { known_since: "2026-11-27T00:00:00Z", runs: [] }, now).known).toBe(0.5);
  expect(lastDay(stopped, { known_since: "2026-11-20T00:00:00Z", runs: [] }, now).known).toBe(0);
});
