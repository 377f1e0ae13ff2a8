import type {
  InstanceId,
  Pool,
  PoolId,
  PoolShare,
  TenantId,
  Worker,
  WorkerId,
} from "../src/api/generated/types";
import { makeId } from "./ids.ts";
import { daysAgo, hoursAgo } from "./times.ts";

const pool = (n: number, name: string, more: Partial<Pool>): Pool => ({
  id: makeId<PoolId>("pool", n),
  name,
  gpu_specs: ["3080-small-8-1", "4090-small-4-1"],
  tenant_id: makeId<TenantId>("ten", 13),
  applications: ["stable-diffusion"],
  dedicated: false,
  workers: { service: "worker-webui", version: "1.10", min: 4, max: 12, lent_max: 20 },
  level_factors: { urgent: "1.5", ordinary: "1", background: "0.4" },
  status: {
    desired: 8,
    actual: 8,
    lent_desired: 6,
    lent_actual: 4,
    ready: 12,
    problem: null,
    retry_at: null,
  },
  created_at: daysAgo(180),
  ...more,
});

const firm = (desired: number, actual: number, problem: string | null = null): Pool["status"] => ({
  desired,
  actual,
  lent_desired: 0,
  lent_actual: 0,
  ready: actual,
  problem,
  retry_at: null,
});

export const firstPools = (): Pool[] => [
  pool(1, "generation", {}),
  pool(2, "training", {
    gpu_specs: ["a100-small-4-1"],
    applications: ["dreambooth"],
    workers: { service: "worker-trainer", version: null, min: 2, max: 6, lent_max: 0 },
    status: firm(5, 3, "no unit of a100-small-4-1 is free: the worker waits in the queue"),
    created_at: daysAgo(176),
  }),
  pool(3, "ironwood-pytorch", {
    tenant_id: makeId<TenantId>("ten", 12),
    dedicated: true,
    applications: ["command"],
    gpu_specs: ["l40s-small-8-1"],
    workers: { service: "ironwood-pytorch", version: "2.9", min: 6, max: 6, lent_max: 0 },
    status: firm(6, 6),
    created_at: daysAgo(41),
  }),
  pool(4, "workshop", {
    tenant_id: null,
    gpu_specs: ["3080-small-4-1"],
    workers: null,
    status: firm(0, 0),
    created_at: daysAgo(12),
  }),
];

export const firstShares = (): Map<PoolId, PoolShare[]> =>
  new Map([
    [
      makeId<PoolId>("pool", 1),
      [
        {
          tenant_id: makeId<TenantId>("ten", 4),
          share: { weight: 300, guarantee: 4, limit: 16, urgent: 2 },
        },
        { tenant_id: makeId<TenantId>("ten", 7), share: { weight: 50, guarantee: 0, limit: 6, urgent: 0 } },
      ],
    ],
  ]);

export const nodeOf = (n: number) =>
  `${["uk-1", "de-2", "us-1"][n % 3]}-gpu-${String(1 + (n % 9)).padStart(2, "0")}`;

/** Those that the platform runs; all of them are ready, and two of three work. */
const workersOf = (it: Pool, index: number): Worker[] =>
  Array.from({ length: it.status.actual + it.status.lent_actual }, (_, i) => ({
    id: makeId<WorkerId>("wrk", index * 100 + i),
    pool_id: it.id,
    name: `${it.name}-${i + 1}`,
    gpu_spec: it.gpu_specs[i < it.status.actual ? 0 : i % it.gpu_specs.length] ?? "",
    node: nodeOf(i),
    instance_id: makeId<InstanceId>("inst", 7000 + index * 100 + i),
    stage: "placed",
    tenure: i < it.status.actual ? "firm" : "lent",
    leave_by: i === it.status.actual ? hoursAgo(-0.01) : null,
    state: "ready",
    job_id: i % 3 === 2 ? null : makeId("job", i + 70),
    checkpoints: null,
    base_models: null,
    last_seen_at: hoursAgo(0.0005 * i),
    created_at: daysAgo(2),
  }));

/** Processes beside the platform, which administrators have registered. */
const registered = (pools: readonly Pool[]): Worker[] => {
  const [last] = pools.toReversed();
  if (!last) return [];
  const names = ["workshop-a", "workshop-b"];
  return names.map((name, i) => ({
    id: makeId<WorkerId>("wrk", 900 + i),
    pool_id: last.id,
    name,
    gpu_spec: last.gpu_specs[0] ?? "",
    node: "basement-1",
    instance_id: null,
    stage: null,
    tenure: "firm",
    leave_by: null,
    state: i === 0 ? "ready" : "offline",
    job_id: i === 0 ? makeId("job", 91) : null,
    checkpoints: null,
    base_models: null,
    last_seen_at: i === 0 ? hoursAgo(0.001) : hoursAgo(31),
    created_at: daysAgo(12),
  }));
};

export const firstWorkers = (pools: readonly Pool[]): Worker[] => [
  ...pools.flatMap(workersOf),
  ...registered(pools),
];
