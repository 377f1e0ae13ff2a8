import type {
  Module,
  PlatformLogLine,
  Replica,
  SigningKey,
  SigningKeyId,
} from "../../src/api/generated/types";
import { asAdmin } from "../admin.ts";
import { makeId, nextId } from "../ids.ts";
import { page } from "../page.ts";
import { daysAgo, hoursAgo, now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { Refusal, Reply } from "../types.ts";

const VERSION = "0.9.2";

const replica = (name: string, n: number, uses: string[], broken?: string): Replica => ({
  address: `10.42.${n}.${17 + name.length}:8080`,
  state: broken ? "degraded" : "ok",
  error: null,
  report: {
    module: name,
    state: broken ? "degraded" : "ok",
    reason: broken ? `${broken} does not answer` : null,
    version: VERSION,
    revision: "fbef943",
    started_at: daysAgo(3.2 + n * 0.1),
    lag_seconds: broken ? 14 : 0,
    last_error: broken ? { message: `${broken}: connection refused`, at: hoursAgo(0.02) } : null,
    dependencies: uses.map((one) => ({
      name: one,
      kind: one === "postgres" ? "postgres" : one.startsWith("cluster") ? "cluster" : "service",
      state: one === broken ? "failed" : "ok",
      latency_ms: one === broken ? null : 2,
      last_error: null,
    })),
    workers: [],
    queues: [],
  },
});

const moduleOf = (name: string, uses: string[], broken?: string): Module => ({
  name,
  state: broken ? "degraded" : "ok",
  versions: [VERSION],
  lag_seconds: broken ? 14 : 0,
  last_error: broken ? { message: `${broken}: connection refused`, at: hoursAgo(0.02) } : null,
  replicas: [replica(name, 1, uses, broken), replica(name, 2, uses)],
});

const modules = (): Module[] => [
  moduleOf("gateway", ["identity", "gpu", "stock", "storage", "jobs"]),
  moduleOf("gpu", ["postgres", "stock", "storage"]),
  moduleOf("identity", ["postgres"]),
  moduleOf("jobs", ["postgres", "gpu", "storage"]),
  moduleOf("operator-de-2", ["cluster:de-2"], "cluster:de-2"),
  moduleOf("operator-uk-1", ["cluster:uk-1"]),
  moduleOf("operator-us-1", ["cluster:us-1"]),
  moduleOf("stock", ["postgres", "cluster:uk-1", "cluster:de-2", "cluster:us-1"]),
  moduleOf("storage", ["postgres"]),
];

const texts: [PlatformLogLine["level"], string, string, Record<string, unknown>][] = [
  ["info", "gpu", "instance started", { attempt: 3, seconds: 38 }],
  ["error", "operator-de-2", "cannot reach the cluster", { cluster: "de-2", error: "connection refused" }],
  ["info", "gateway", "request", { method: "POST", status: 202, ms: 41 }],
  ["warn", "stock", "claim waits for a free unit", { gpu_spec: "a100-small-4-1", waiting: 5 }],
  ["info", "jobs", "attempt assigned", { pool: "generation", wait_ms: 212 }],
  ["debug", "identity", "session refreshed", {}],
];

function lines(): PlatformLogLine[] {
  return Array.from({ length: 120 }, (_, i) => {
    const [level, module, message, fields] = texts[(i * 5) % texts.length] ?? ["info", "gpu", "", {}];
    return {
      time: hoursAgo(i * 0.004),
      level,
      module,
      message,
      fields,
      target: module,
      replica: `10.42.${1 + (i % 2)}.${17 + module.length}:8080`,
      request_id: i % 3 === 0 ? `req${(i * 7919).toString(16)}` : null,
    };
  });
}

const order = ["trace", "debug", "info", "warn", "error"];

export const firstKeys = (): SigningKey[] =>
  (["active", "retiring", "ended"] as const).map((stage, i) => ({
    id: makeId<SigningKeyId>("skey", 31 + i),
    algorithm: "RS256",
    stage,
    active_from: daysAgo(9 + i * 30),
    created_at: daysAgo(9.1 + i * 30),
  }));

export const platformHealthHandlers = {
  getPlatformHealth: (context) => {
    asAdmin(context);
    return { state: "degraded" as const, checked_at: now(), modules: modules() };
  },
  getPlatformIsolation: (context) => {
    asAdmin(context);
    return {
      datacenters: [
        {
          datacenter: "de-2",
          running: 58,
          refusing: 4,
          reports: [
            { reason: "Isolated", message: "runtime class gvisor", units: 58 },
            { reason: "NodeUnsuitable", message: "the node has no isolated runtime", units: 4 },
          ],
        },
        {
          datacenter: "uk-1",
          running: 64,
          refusing: 0,
          reports: [{ reason: "Isolated", message: "runtime class gvisor", units: 64 }],
        },
        {
          datacenter: "us-1",
          running: 0,
          refusing: 47,
          reports: [{ reason: "RuntimeClassMissing", message: "there is no runtime class", units: 47 }],
        },
      ],
    };
  },
  listPlatformLogs: (context) => {
    asAdmin(context);
    const { module, level, request_id, limit = 200 } = context.query;
    return {
      items: lines()
        .filter(
          (it) =>
            (!module || it.module === module) &&
            (!level || order.indexOf(it.level) >= order.indexOf(level)) &&
            (!request_id || it.request_id === request_id),
        )
        .slice(0, limit),
      unreachable: [],
    };
  },
  listSigningKeys: (context) => {
    asAdmin(context);
    return page(context.backend.platform.signingKeys);
  },
  rotateSigningKeys: (context) => {
    asAdmin(context);
    const { signingKeys } = context.backend.platform;
    if (signingKeys.some((it) => it.stage === "next")) throw new Refusal("rotation-under-way");
    const id = nextId<SigningKeyId>(context.backend, "skey");
    signingKeys.unshift({
      id,
      algorithm: "RS256",
      stage: "next",
      active_from: hoursAgo(-1 / 6),
      created_at: now(),
    });
    return new Reply({ id, requested_at: now() }, 202);
  },
} satisfies Partial<Handlers>;
