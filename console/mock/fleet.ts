import type { InstanceId, Pool, Worker, WorkerId, WorkerTenure } from "../src/api/generated/types";
import type { Backend } from "./backend.ts";
import { nextId } from "./ids.ts";
import { nodeOf } from "./pools-seed.ts";
import { now } from "./times.ts";

/** How long an ordered worker takes to register, in milliseconds. */
const START = 2500;

export const workersOf = ({ platform }: Backend, { id }: Pool) =>
  platform.workers.filter((it) => it.pool_id === id);

const stays = (it: Worker) => it.stage === "ordered" || it.stage === "placed";

/** Those that the platform runs or starts, and keeps. */
const fleetOf = (backend: Backend, pool: Pool, tenure: WorkerTenure) =>
  workersOf(backend, pool).filter((it) => stays(it) && it.tenure === tenure);

/** The pool with the numbers of its workers. */
export function withStatus(backend: Backend, pool: Pool): Pool {
  const all = workersOf(backend, pool);
  return {
    ...pool,
    status: {
      ...pool.status,
      actual: fleetOf(backend, pool, "firm").length,
      lent_actual: fleetOf(backend, pool, "lent").length,
      ready: all.filter((it) => it.state === "ready" && it.stage !== "draining").length,
    },
  };
}

function order(backend: Backend, pool: Pool, tenure: WorkerTenure) {
  const worker: Worker = {
    id: nextId<WorkerId>(backend, "wrk"),
    pool_id: pool.id,
    name: `${pool.name}-${backend.next}`,
    gpu_spec: pool.gpu_specs[0] ?? "",
    node: "",
    instance_id: nextId<InstanceId>(backend, "inst"),
    stage: "ordered",
    tenure,
    leave_by: null,
    state: "offline",
    job_id: null,
    checkpoints: null,
    base_models: null,
    last_seen_at: null,
    created_at: now(),
  };
  backend.platform.workers.push(worker);
  setTimeout(() => {
    if (worker.stage !== "ordered") return;
    Object.assign(worker, {
      stage: "placed",
      state: "ready",
      node: nodeOf(backend.next),
      last_seen_at: now(),
    });
  }, START);
}

/** It gets no job; without one it is gone at once. */
export function drain({ platform }: Backend, worker: Worker) {
  if (worker.job_id) worker.stage = "draining";
  else platform.workers = platform.workers.filter((it) => it !== worker);
}

/** As many as the pool wants now: more are ordered, and of too many the idle ones go first. */
export function resize(backend: Backend, pool: Pool) {
  const { min = 0, max = 0, lent_max = 0 } = pool.workers ?? {};
  const { status } = pool;
  status.desired = Math.min(max, Math.max(min, status.desired));
  status.lent_desired = Math.min(lent_max, status.lent_desired);
  for (const [tenure, wanted] of [
    ["firm", status.desired],
    ["lent", status.lent_desired],
  ] as const) {
    const fleet = fleetOf(backend, pool, tenure);
    for (let n = fleet.length; tenure === "firm" && n < wanted; n++) order(backend, pool, tenure);
    const idleFirst = fleet.toSorted((a, b) => Number(Boolean(a.job_id)) - Number(Boolean(b.job_id)));
    for (const worker of idleFirst.slice(0, Math.max(0, fleet.length - wanted))) drain(backend, worker);
  }
}
