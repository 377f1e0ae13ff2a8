import { expect, test } from "vitest";
import type { Event, EventDetail } from "@/api/generated/types";
import { timelineOf } from "./timeline";

let sequence = 0;
const at = (second: number) => new Date(Date.UTC(2026, 10, 26, 10, 0, second)).toISOString();
const event = (second: number, detail: EventDetail, more: Partial<Event> = {}) =>
  ({
    ...detail,
    id: `evt_${++sequence}`,
    sequence,
    time: at(second),
    actor: { kind: "system" },
    reason: null,
    message: null,
    ...more,
  }) as Event;

const op = { operation_id: "op_1" } as never;
const asked = (second: number) => event(second, { type: "instance.start_requested", data: op });
const claimed = (second: number) =>
  event(second, { type: "instance.unit_claimed", data: { datacenter: "uk-1" } as never });
const attached = (second: number) =>
  event(second, { type: "instance.storage_attached", data: { storage_id: "stor_1" as never } });
const started = (second: number) =>
  event(second, { type: "instance.started", data: { attempt: 1, started_at: at(second), node: null } });

const it = (state: "starting" | "running" | "stopped", storages = 1) => ({
  state,
  reason: state === "starting" ? ("waiting_for_storage" as const) : null,
  message: null,
  storages: Array.from({ length: storages }, () => ({}) as never),
});
const shape = (events: Event[], of: ReturnType<typeof it>) =>
  timelineOf(events.toReversed(), of)?.steps.map((step) => `${step.kind} ${step.state} ${step.took}`);

test("a whole start has its steps with what each took", () => {
  const events = [asked(0), claimed(1), attached(3), attached(4), started(39)];
  expect(shape(events, it("running", 2))).toEqual([
    "asked done null",
    "claimed done 1",
    "storages done 3",
    "ready done 35",
  ]);
  expect(timelineOf(events.toReversed(), it("running"))?.seconds).toBe(39);
});

test("while it starts, the first step that is missing goes on and the others are ahead", () => {
  expect(shape([asked(0), claimed(1)], it("starting"))).toEqual([
    "asked done null",
    "claimed done 1",
    "storages now null",
    "working ahead null",
    "ready ahead null",
  ]);
  const now = timelineOf([claimed(1), asked(0)], it("starting"))?.steps[2];
  expect(now).toMatchObject({ since: at(1), reason: "waiting_for_storage" });
});

test("without storages there is no step for them", () => {
  expect(shape([asked(0), claimed(1)], it("starting", 0))).toEqual([
    "asked done null",
    "claimed done 1",
    "working now null",
    "ready ahead null",
  ]);
});

test("a failed start ends with its reason", () => {
  const failed = event(
    130,
    { type: "instance.start_failed", data: { attempt: 1 } },
    { reason: "image_pull_failed" },
  );
  const events = [asked(0), claimed(1), attached(4), failed];
  expect(shape(events, it("stopped"))?.at(-1)).toBe("ready failed 126");
  expect(timelineOf(events.toReversed(), it("stopped"))?.steps.at(-1)?.reason).toBe("image_pull_failed");
});

test("only the newest start counts, with what came after it", () => {
  const events = [
    asked(0),
    claimed(1),
    started(9),
    event(20, { type: "instance.stop_requested", data: op }),
    event(22, { type: "instance.stopped", data: { cause: "user" } }),
    asked(30),
    claimed(31),
    attached(32),
    started(40),
    event(50, { type: "instance.interrupted", data: { attempt: 2 } }, { reason: "probe_failing" }),
  ];
  expect(shape(events, it("running"))).toEqual([
    "asked done null",
    "claimed done 1",
    "storages done 1",
    "ready done 8",
    "after done 10",
  ]);
});

test("what was ordered and never started has none", () => {
  const created = event(0, { type: "instance.created", data: {} as never });
  expect(timelineOf([created], it("stopped"))).toBeNull();
  expect(timelineOf([], it("running"))).toBeNull();
});
