import type { Alternative, Instance, ReasonCode, RunEnd } from "../src/api/generated/types";
import type { Backend } from "./backend.ts";
import { record } from "./events.ts";
import { nextId } from "./ids.ts";
import type { Kept } from "./kept.ts";
import { now } from "./times.ts";

/** How long the phases of a start and of a stop take, in milliseconds. */
const CLAIM = 700;
const PHASE = 1100;
const STOP = 1200;

export function set(kept: Kept, change: Partial<Instance>) {
  if (change.operation_id) kept.operations = [...(kept.operations ?? []), kept.it.operation_id];
  Object.assign(kept.it, change, { updated_at: now() });
}

/** Does it later, unless something else was asked of the instance meanwhile. */
function later(kept: Kept, milliseconds: number, act: () => void) {
  const { attempt } = kept;
  setTimeout(() => {
    if (kept.attempt === attempt) act();
  }, milliseconds);
}

const tell = (
  backend: Backend,
  { tenant_id, it }: Kept,
  ...[detail, more]: [Parameters<typeof record>[3], Parameters<typeof record>[4]?]
) => record(backend, tenant_id, it.id, detail, more);

const specOf = (backend: Backend, { it }: Kept) => backend.specs.find((spec) => spec.id === it.gpu_spec.id);

/** Units that could be claimed instead. */
export const alternativesTo = (backend: Backend, name: string): Alternative[] =>
  backend.stock
    .filter(
      (row) => row.available > 0 && row.gpu_spec.name !== name && row.gpu_spec.name !== "h100-small-16-1",
    )
    .sort((a, b) => Number(b.price_per_hour) - Number(a.price_per_hour))
    .slice(0, 3)
    .map(({ gpu_spec, datacenter, available, price_per_hour, currency }) => ({
      gpu_spec: { id: gpu_spec.id, name: gpu_spec.name },
      datacenter,
      available,
      price_per_hour,
      currency,
    }));

function closeRun(backend: Backend, kept: Kept, end_reason: RunEnd) {
  const run = kept.runs.find((it) => it.ended_at === null);
  if (!run) return;
  run.ended_at = now();
  run.end_reason = end_reason;
  tell(backend, kept, {
    type: "instance.run_ended",
    data: {
      attempt: kept.attempt,
      started_at: run.started_at,
      ended_at: run.ended_at,
      end_reason: end_reason as "stopped",
    },
  });
}

function openRun(backend: Backend, kept: Kept) {
  const started_at = now();
  set(kept, { state: "running", reason: null, message: null, started_at, queue: null, alternatives: null });
  kept.runs.unshift({
    id: nextId(backend, "run"),
    kind: "running",
    started_at,
    ended_at: null,
    end_reason: null,
    correction: null,
    seconds: 0,
    price_per_hour: kept.it.price_per_hour,
    currency: kept.it.currency,
    amount: "0",
  });
  tell(backend, kept, {
    type: "instance.started",
    data: { attempt: kept.attempt, started_at, node: kept.it.node },
  });
}

function release(backend: Backend, kept: Kept) {
  const row = backend.stock.find(
    (it) => it.gpu_spec.id === kept.it.gpu_spec.id && it.datacenter.name === kept.it.datacenter,
  );
  if (row && kept.it.node) {
    row.available += 1;
    row.used -= 1;
  }
  kept.it.node = null;
}

export function fail(
  backend: Backend,
  kept: Kept,
  reason: ReasonCode,
  message: string,
  more: Partial<Instance> = {},
) {
  tell(
    backend,
    kept,
    { type: "instance.start_failed", data: { attempt: kept.attempt } },
    { reason, message },
  );
  release(backend, kept);
  set(kept, { state: "stopped", reason, message, queue: null, started_at: null, ...more });
  tell(backend, kept, { type: "instance.stopped", data: { cause: "failure" } }, { reason, message });
}

/** From the request to running, as the platform goes: a unit, the image, the service. */
export function start(backend: Backend, kept: Kept, wait: boolean) {
  kept.attempt++;
  const held = kept.it.hold !== null;
  set(kept, {
    state: "pending",
    reason: null,
    message: null,
    log_tail: null,
    alternatives: null,
    hold: null,
    operation_id: nextId(backend, "op"),
  });
  later(kept, CLAIM, () => (held ? load(backend, kept) : claim(backend, kept, wait)));
}

function claim(backend: Backend, kept: Kept, wait: boolean) {
  const { order, it } = kept;
  const rows = backend.stock.filter((row) => row.gpu_spec.id === it.gpu_spec.id);
  const row = rows.find(
    (row) =>
      row.available > 0 &&
      row.datacenter_state === "active" &&
      (!order.datacenter || row.datacenter.name === order.datacenter),
  );
  if (!row) {
    const alternatives = alternativesTo(backend, it.gpu_spec.name);
    if (!wait)
      return fail(backend, kept, "stock_exhausted", `No unit of ${it.gpu_spec.name} is free.`, {
        alternatives,
      });
    set(kept, {
      reason: "queued",
      message: "No unit is free. It starts when there is one.",
      alternatives,
      queue: {
        is_known: true,
        waiting_for: { gpu_spec: it.gpu_spec, datacenter_id: null },
        position: 4,
        length: 6,
        since: now(),
        estimate: {
          starts_at: new Date(Date.now() + 14 * 60_000).toISOString(),
          releases: 7,
          period_seconds: 7200,
        },
      },
    });
    return;
  }
  row.available -= 1;
  row.used += 1;
  set(kept, {
    state: "starting",
    reason: "waiting_for_place",
    message: "The GPU is being prepared.",
    datacenter: row.datacenter.name,
    node: `${row.datacenter.name}-gpu-03`,
    price_per_hour: row.price_per_hour,
  });
  tell(backend, kept, {
    type: "instance.unit_claimed",
    data: {
      unit_id: nextId(backend, "unit"),
      datacenter_id: row.datacenter.id,
      datacenter: row.datacenter.name,
      price_per_hour: row.price_per_hour,
      currency: row.currency,
    },
  });
  for (const { storage_id } of kept.it.storages)
    tell(backend, kept, { type: "instance.storage_attached", data: { storage_id } });
  later(kept, PHASE, () => load(backend, kept));
}

function load(backend: Backend, kept: Kept) {
  const { it } = kept;
  if (it.service === "stable-diffusion-webui" && it.version === "1.5") {
    fail(
      backend,
      kept,
      "image_pull_failed",
      "The image of stable-diffusion-webui 1.5 is not in the registry any more. Choose another version.",
      { log_tail: "pulling stable-diffusion-webui:1.5\nerror: manifest unknown: tag 1.5 not found" },
    );
    return;
  }
  set(kept, { state: "starting", reason: "starting", message: "Loading the image, 40 %." });
  later(kept, PHASE, () => {
    set(kept, { message: "The image is loaded. The service starts." });
    later(kept, PHASE, () => openRun(backend, kept));
  });
}

export function restart(backend: Backend, kept: Kept) {
  kept.attempt++;
  set(kept, {
    state: "starting",
    reason: "restarting",
    message: "The service starts anew.",
    started_at: null,
    operation_id: nextId(backend, "op"),
  });
  closeRun(backend, kept, "restarted");
  later(kept, 2 * PHASE, () => openRun(backend, kept));
}

export function stop(backend: Backend, kept: Kept, until: string | null) {
  kept.attempt++;
  set(kept, {
    state: "stopping",
    reason: "stopping",
    message: null,
    started_at: null,
    queue: null,
    alternatives: null,
    idle_stop: kept.it.idle_stop && { ...kept.it.idle_stop, idle_since: null, stop_at: null },
    operation_id: nextId(backend, "op"),
  });
  later(kept, STOP, () => {
    closeRun(backend, kept, "stopped");
    const fraction = Number(specOf(backend, kept)?.hold_price_fraction ?? 0);
    const price_per_hour = (Number(kept.it.price_per_hour) * fraction).toFixed(4);
    if (until) {
      const hold = { since: now(), until, price_per_hour, currency: kept.it.currency };
      set(kept, { state: "stopped", reason: null, message: null, hold });
      tell(backend, kept, {
        type: "instance.hold_started",
        data: {
          unit_id: nextId(backend, "unit"),
          started_at: now(),
          until,
          price_per_hour,
          currency: kept.it.currency,
        },
      });
      return;
    }
    release(backend, kept);
    set(kept, { state: "stopped", reason: null, message: null });
    tell(backend, kept, { type: "instance.stopped", data: { cause: "user" } });
  });
}

export function remove(backend: Backend, kept: Kept) {
  kept.attempt++;
  set(kept, {
    state: "deleting",
    reason: "deleting",
    message: null,
    started_at: null,
    hold: null,
    operation_id: nextId(backend, "op"),
  });
  later(kept, STOP, () => {
    closeRun(backend, kept, "stopped");
    release(backend, kept);
    backend.instances = backend.instances.filter((other) => other !== kept);
    for (const storage of backend.storages)
      storage.attachments = storage.attachments.filter((it) => it.instance_id !== kept.it.id);
    tell(backend, kept, { type: "instance.deleted", data: { name: kept.it.name } });
  });
}

export function releaseHold(backend: Backend, kept: Kept) {
  release(backend, kept);
  set(kept, { hold: null });
  tell(backend, kept, {
    type: "instance.hold_ended",
    data: { started_at: null, ended_at: now(), cause: "given_up" },
  });
}
