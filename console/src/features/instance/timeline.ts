import type { Event, EventActor, Instance, ReasonCode } from "@/api/generated/types";

export type StepKind = "asked" | "storages" | "claimed" | "working" | "ready" | "after";

export interface Step {
  kind: StepKind;
  /** The event, of what has happened; null of what is going on or still to come. */
  event: Event | null;
  state: "done" | "now" | "ahead" | "failed";
  /** When it was done, and how long after the step before, in seconds. */
  at: string | null;
  took: number | null;
  /** Since when it is going on. */
  since: string | null;
  reason: ReasonCode | null;
  message: string | null;
}

export interface Timeline {
  steps: Step[];
  actor: EventActor | null;
  asked_at: string;
  /** From the request to ready or failed, in seconds; null while it goes on. */
  seconds: number | null;
}

const begins = new Set<Event["type"]>([
  "instance.created",
  "instance.start_requested",
  "instance.restart_requested",
]);
const ends = new Set<Event["type"]>(["instance.started", "instance.start_failed"]);
const told = new Set<Event["type"]>([
  "instance.interrupted",
  "instance.recovered",
  "instance.failed",
  "instance.recalled",
  "instance.idle_stop_announced",
  "instance.stop_requested",
  "instance.stopped",
  "instance.hold_started",
  "instance.hold_ended",
]);

/** What failed is stopped: the failure says it already. */
const isTold = (event: Event) =>
  told.has(event.type) && !(event.type === "instance.stopped" && event.data.cause === "failure");

const between = (from: string, to: string) => Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000);

/** The last start of an instance, from its events (newest first), with what is still to come. */
export function timelineOf(
  events: readonly Event[],
  it: Pick<Instance, "state" | "reason" | "message" | "storages">,
): Timeline | null {
  const newest = events.findIndex((event) => begins.has(event.type));
  const first = events[newest];
  if (!first) return null;
  const later = events.slice(0, newest).toReversed();
  // ordered, but never started
  if (first.type === "instance.created" && later.length === 0 && it.state === "stopped") return null;
  const end = later.findIndex((event) => ends.has(event.type));
  const during = end < 0 ? later : later.slice(0, end + 1);
  const after = end < 0 ? [] : later.slice(end + 1).filter(isTold);
  const steps: Step[] = [done("asked", first, first)];
  const add = (kind: StepKind, event: Event) => {
    const before = steps.at(-1)?.event ?? first;
    steps.push(done(kind, event, before));
  };
  const storages = during.filter((event) => event.type === "instance.storage_attached");
  for (const event of during) {
    if (event.type === "instance.unit_claimed") add("claimed", event);
    // several storages are one step, when the last of them is there
    if (event === storages.at(-1)) add("storages", event);
    if (event.type === "instance.started") add("ready", event);
    if (event.type === "instance.start_failed") add("ready", event);
  }
  const last = during.at(-1);
  const isOver = end >= 0;
  if (!isOver) steps.push(...ahead(steps, it, first));
  for (const event of after) add("after", event);
  return {
    steps,
    actor: first.actor,
    asked_at: first.time,
    seconds: isOver && last ? between(first.time, last.time) : null,
  };
}

function done(kind: StepKind, event: Event, before: Event): Step {
  const failed = event.type === "instance.start_failed" || event.type === "instance.failed";
  return {
    kind,
    event,
    state: failed ? "failed" : "done",
    at: event.time,
    took: event === before ? null : between(before.time, event.time),
    since: null,
    reason: event.reason,
    message: event.message,
  };
}

/** What is going on, and what has not begun. */
function ahead(
  steps: readonly Step[],
  it: Pick<Instance, "state" | "reason" | "message" | "storages">,
  first: Event,
): Step[] {
  const isRestart = first.type === "instance.restart_requested";
  const has = (kind: StepKind) => steps.some((step) => step.kind === kind);
  const order: StepKind[] = [
    ...(isRestart || has("claimed") ? [] : (["claimed"] as const)),
    ...(isRestart || it.storages.length === 0 || has("storages") ? [] : (["storages"] as const)),
    "working",
    "ready",
  ];
  const isMoving = it.state === "pending" || it.state === "starting";
  return order.map((kind, i) => {
    const isNow = i === 0 && isMoving;
    return {
      kind,
      event: null,
      state: isNow ? "now" : "ahead",
      at: null,
      took: null,
      since: isNow ? (steps.at(-1)?.at ?? first.time) : null,
      reason: isNow ? it.reason : null,
      message: isNow ? it.message : null,
    };
  });
}
