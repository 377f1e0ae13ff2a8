import type { Pool, PoolId, PoolShare, TenantId, Worker, WorkerId } from "../../src/api/generated/types";
import { asAdmin, changing, tagged } from "../admin.ts";
import type { Handlers } from "../handlers.ts";
import { pageOf } from "../page.ts";
import { type Context, Refusal } from "../types.ts";
import { daysAgo, hoursAgo, makeId, now } from "../world.ts";

const pool = (n: number, name: string, more: Partial<Pool>): Pool => ({
  id: makeId<PoolId>("pool", n),
  name,
  gpu_specs: ["3080-small-8-1", "4090-small-4-1"],
  tenant_id: null,
  applications: ["stable-diffusion"],
  dedicated: false,
  workers: { service: "worker-webui", version: "1.10", min: 4, max: 12, lent_max: 20 },
  level_factors: { urgent: "1.5", ordinary: "1", background: "0.5" },
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

export const firstPools = (): Pool[] => [
  pool(1, "generation", {}),
  pool(2, "training", {
    gpu_specs: ["a100-small-4-1"],
    applications: ["dreambooth"],
    workers: { service: "worker-trainer", min: 2, max: 6, lent_max: 0 },
    status: {
      desired: 5,
      actual: 3,
      lent_desired: 0,
      lent_actual: 0,
      ready: 3,
      problem: "no unit of a100-small-4-1 is free: the worker waits in the queue",
      retry_at: null,
    },
  }),
  pool(3, "ironwood-pytorch", {
    tenant_id: makeId<TenantId>("ten", 12),
    dedicated: true,
    applications: ["command"],
    gpu_specs: ["l40s-small-8-1"],
    status: {
      desired: 6,
      actual: 6,
      lent_desired: 0,
      lent_actual: 0,
      ready: 6,
      problem: null,
      retry_at: null,
    },
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

function poolOf(context: Context, id: PoolId) {
  asAdmin(context);
  const found = context.world.platform.pools.find((it) => it.id === id);
  if (!found) throw new Refusal("not-found");
  return found;
}

const workersOf = (it: Pool): Worker[] =>
  Array.from({ length: it.status.actual + it.status.lent_actual }, (_, i) => {
    const isReady = i < it.status.ready;
    return {
      id: makeId<WorkerId>("wrk", Number(it.id.length) * 100 + i),
      pool_id: it.id,
      name: `${it.name}-${i + 1}`,
      gpu_spec: it.gpu_specs[i % it.gpu_specs.length] ?? "",
      node: isReady ? `${["uk-1", "de-2", "us-1"][i % 3]}-gpu-${String(1 + (i % 9)).padStart(2, "0")}` : "",
      instance_id: null,
      stage: "placed",
      tenure: i < it.status.actual ? "firm" : "lent",
      leave_by: i === it.status.actual ? hoursAgo(-0.01) : null,
      state: isReady ? "ready" : "offline",
      job_id: isReady && i % 3 !== 2 ? makeId("job", i + 70) : null,
      checkpoints: null,
      base_models: null,
      last_seen_at: isReady ? hoursAgo(0.0005 * i) : null,
      created_at: daysAgo(2),
    };
  });

const sharesOf = ({ world }: Context, id: PoolId) => world.platform.shares.get(id) ?? [];

export const platformPoolHandlers = {
  listPlatformPools: (context) => {
    asAdmin(context);
    return pageOf(context.world.platform.pools, context.query);
  },
  getPlatformPool: (context) => tagged(context, poolOf(context, context.path.id)),
  getPoolCapacity: (context) => {
    const it = poolOf(context, context.path.id);
    const all = workersOf(it);
    const rows = it.gpu_specs.map((gpu_spec) => {
      const own = all.filter((one) => one.gpu_spec === gpu_spec);
      return {
        gpu_spec,
        firm: own.filter((one) => one.tenure === "firm").length,
        lent: own.filter((one) => one.tenure === "lent").length,
        idle: own.filter((one) => one.state === "ready" && !one.job_id).length,
        busy: own.filter((one) => one.job_id).length,
        reserved: 0,
        closed: own.filter((one) => one.state === "offline").length,
      };
    });
    return {
      pool_id: it.id,
      at: now(),
      queued: [
        { level: "urgent" as const, jobs: 1 },
        { level: "ordinary" as const, jobs: 14 },
        { level: "background" as const, jobs: 60 },
      ],
      workers: rows,
      nodes: [],
      next_hour: it.gpu_specs.map((gpu_spec) => ({
        gpu_spec,
        level: "ordinary" as const,
        starts: 22,
        ends: 20,
      })),
    };
  },
  listPlatformWorkers: (context) => pageOf(workersOf(poolOf(context, context.path.id)), context.query),
  listPlatformPoolShares: (context) => {
    poolOf(context, context.path.id);
    return pageOf(sharesOf(context, context.path.id), context.query);
  },
  getPlatformPoolShare: (context) => {
    poolOf(context, context.path.id);
    const found = sharesOf(context, context.path.id).find((it) => it.tenant_id === context.path.tenant_id);
    if (!found) throw new Refusal("not-found");
    return tagged(context, found);
  },
  putPlatformPoolShare: (context) => {
    const { path, body, world } = context;
    poolOf(context, path.id);
    changing(context);
    const put = { tenant_id: path.tenant_id, share: body };
    const others = sharesOf(context, path.id).filter((it) => it.tenant_id !== path.tenant_id);
    world.platform.shares.set(path.id, [...others, put]);
    return tagged(context, put);
  },
} satisfies Partial<Handlers>;
