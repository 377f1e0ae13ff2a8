import type { LevelFactors, Pool, PoolId, WorkerId } from "../../src/api/generated/types";
import { asAdmin, changing, tagged } from "../admin.ts";
import { drain, resize, withStatus, workersOf } from "../fleet.ts";
import { nextId } from "../ids.ts";
import { pageOf } from "../page.ts";
import { etagOf } from "../platform-data.ts";
import { checkNewPool, checkPoolPatch } from "../pool-checks.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal, Reply } from "../types.ts";
import { isName, nameWrong, refuseWrong } from "./checks.ts";

const usualFactors: LevelFactors = { urgent: "1.5", ordinary: "1", background: "0.4" };

function poolOf(context: Context, id: PoolId) {
  asAdmin(context);
  const found = context.backend.platform.pools.find((it) => it.id === id);
  if (!found) throw new Refusal("not-found");
  return found;
}

function workerOf(context: Context, { id, worker_id }: { id: PoolId; worker_id: WorkerId }) {
  const found = workersOf(context.backend, poolOf(context, id)).find((it) => it.id === worker_id);
  if (!found) throw new Refusal("not-found");
  return found;
}

const sharesOf = ({ backend }: Context, id: PoolId) => backend.platform.shares.get(id) ?? [];

export const platformPoolHandlers = {
  listPlatformPools: (context) => {
    asAdmin(context);
    const { backend, query } = context;
    return pageOf(
      backend.platform.pools.map((it) => withStatus(backend, it)),
      query,
    );
  },
  createPlatformPool: (context) => {
    asAdmin(context);
    const { backend, body } = context;
    checkNewPool(body);
    if (backend.platform.pools.some((it) => it.name === body.name)) throw new Refusal("name-taken");
    const pool: Pool = {
      id: nextId<PoolId>(backend, "pool"),
      name: body.name,
      gpu_specs: body.gpu_specs,
      tenant_id: body.tenant_id ?? null,
      applications: body.applications ?? ["stable-diffusion", "dreambooth"],
      dedicated: body.dedicated ?? false,
      workers: body.workers ?? null,
      level_factors: body.level_factors ?? usualFactors,
      status: {
        desired: 0,
        actual: 0,
        lent_desired: 0,
        lent_actual: 0,
        ready: 0,
        problem: null,
        retry_at: null,
      },
      created_at: now(),
    };
    backend.platform.pools.push(pool);
    resize(backend, pool);
    const location = `/v1/platform-pools/${pool.id}`;
    return new Reply(withStatus(backend, pool), 201, { location, etag: etagOf(backend.platform, location) });
  },
  getPlatformPool: (context) =>
    tagged(context, withStatus(context.backend, poolOf(context, context.path.id))),
  updatePlatformPool: (context) => {
    const { backend, path, body } = context;
    const pool = poolOf(context, path.id);
    checkPoolPatch(pool, body);
    changing(context);
    if (body.level_factors) pool.level_factors = body.level_factors;
    if (body.applications) pool.applications = body.applications;
    if (body.workers !== undefined) {
      pool.workers = body.workers;
      // a change tries again at once
      Object.assign(pool.status, { problem: null, retry_at: null });
      resize(backend, pool);
    }
    return tagged(context, withStatus(backend, pool));
  },
  getPoolCapacity: (context) => {
    const it = poolOf(context, context.path.id);
    const all = workersOf(context.backend, it);
    const isClosed = (one: (typeof all)[number]) => one.state === "offline" || one.stage === "draining";
    const isOld = Date.parse(it.created_at) < Date.now() - 86_400_000;
    return {
      pool_id: it.id,
      at: now(),
      queued: [
        { level: "urgent" as const, jobs: isOld ? 1 : 0 },
        { level: "ordinary" as const, jobs: isOld ? 14 : 0 },
        { level: "background" as const, jobs: isOld ? 60 : 0 },
      ],
      workers: it.gpu_specs.map((gpu_spec) => {
        const own = all.filter((one) => one.gpu_spec === gpu_spec);
        return {
          gpu_spec,
          firm: own.filter((one) => one.tenure === "firm").length,
          lent: own.filter((one) => one.tenure === "lent").length,
          idle: own.filter((one) => !isClosed(one) && !one.job_id).length,
          busy: own.filter((one) => !isClosed(one) && one.job_id).length,
          reserved: 0,
          closed: own.filter(isClosed).length,
        };
      }),
      nodes: [],
      next_hour: it.gpu_specs.map((gpu_spec) => ({
        gpu_spec,
        level: "ordinary" as const,
        starts: isOld ? 22 : 0,
        ends: isOld ? 20 : 0,
      })),
    };
  },
  listPlatformWorkers: (context) =>
    pageOf(workersOf(context.backend, poolOf(context, context.path.id)), context.query),
  createPlatformWorker: (context) => {
    const { backend, path, body } = context;
    const pool = poolOf(context, path.id);
    refuseWrong([
      ["/name", !isName(body.name), nameWrong],
      [
        "/gpu_spec",
        !pool.gpu_specs.includes(body.gpu_spec),
        `must be one of the pool's: ${pool.gpu_specs.join(", ")}`,
      ],
      ["/node", body.node.length === 0 || body.node.length > 253, "must have 1 to 253 characters"],
    ]);
    if (workersOf(backend, pool).some((it) => it.name === body.name)) throw new Refusal("name-taken");
    const worker = {
      ...body,
      id: nextId<WorkerId>(backend, "wrk"),
      pool_id: pool.id,
      instance_id: null,
      stage: null,
      tenure: "firm" as const,
      leave_by: null,
      state: "offline" as const,
      job_id: null,
      checkpoints: null,
      base_models: null,
      last_seen_at: null,
      created_at: now(),
    };
    backend.platform.workers.push(worker);
    return new Reply({ ...worker, token: "awt_5f0c1d9be2a74e31b8c6420f7d95ae83" }, 201);
  },
  deletePlatformWorker: (context) => {
    const { backend, path } = context;
    const worker = workerOf(context, path);
    if (worker.stage === null && worker.job_id) throw new Refusal("worker-busy");
    drain(backend, worker);
  },
  listPlatformPoolShares: (context) => {
    poolOf(context, context.path.id);
    return pageOf(sharesOf(context, context.path.id), context.query);
  },
  getPlatformPoolShare: (context) => {
    poolOf(context, context.path.id);
    const found = sharesOf(context, context.path.id).find((it) => it.tenant_id === context.path.tenant_id);
    return found && tagged(context, found);
  },
  putPlatformPoolShare: (context) => {
    const { path, body, backend } = context;
    poolOf(context, path.id);
    const { weight = 100, guarantee = 0, limit, urgent = 1 } = body;
    refuseWrong([
      ["/weight", weight < 1 || weight > 10_000, "must be between 1 and 10000"],
      ["/guarantee", guarantee > 10_000, "must be between 0 and 10000"],
      ["/urgent", urgent > 10_000, "must be between 0 and 10000"],
      [
        "/limit",
        limit != null && (limit < guarantee || limit > 10_000),
        `must be between ${guarantee} and 10000`,
      ],
    ]);
    changing(context);
    const put = { tenant_id: path.tenant_id, share: body };
    const others = sharesOf(context, path.id).filter((it) => it.tenant_id !== path.tenant_id);
    backend.platform.shares.set(path.id, [...others, put]);
    return tagged(context, put);
  },
  deletePlatformPoolShare: (context) => {
    const { path, backend } = context;
    poolOf(context, path.id);
    const set = sharesOf(context, path.id);
    const others = set.filter((it) => it.tenant_id !== path.tenant_id);
    if (others.length === set.length) throw new Refusal("not-found");
    backend.platform.shares.set(path.id, others);
  },
} satisfies Partial<Handlers>;
