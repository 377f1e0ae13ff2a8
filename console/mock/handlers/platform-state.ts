import type { Dependency, Module, Report } from "../../src/api/generated/types";
import type { Backend } from "../backend.ts";
import { asAdmin } from "../match.ts";
import { pageOf } from "../page.ts";
import { daysAgo, hoursAgo, now } from "../times.ts";
import type { Handlers } from "../types.ts";

const isSilent = (cluster: string) => cluster === "us-1";

const clusterOf = (cluster: string, i: number): Dependency => ({
  name: `cluster:${cluster}`,
  kind: "cluster",
  state: isSilent(cluster) ? "failed" : "ok",
  latency_ms: isSilent(cluster) ? null : 9 + 21 * i,
  last_error: isSilent(cluster)
    ? {
        message: "connect to api.us-1.clusters.atelier.example:6443: timed out after 5 s",
        at: hoursAgo(0.03),
      }
    : null,
});

function stockReport(backend: Backend): Report {
  return {
    module: "stock",
    state: "degraded",
    reason: "cluster:us-1 does not answer",
    version: "0.14.2",
    revision: "9f3c1e7",
    started_at: daysAgo(6),
    lag_seconds: 0,
    last_error: null,
    dependencies: [
      { name: "postgres", kind: "postgres", state: "ok", latency_ms: 2, last_error: null },
      ...backend.datacenters.map((it, i) => clusterOf(it.cluster, i)),
    ],
    workers: [],
    queues: [{ name: "units", due: 3, lag_seconds: 12, last_error: null }],
  };
}

const moduleOf = (backend: Backend): Module => ({
  name: "stock",
  state: "degraded",
  versions: ["0.14.2"],
  lag_seconds: 12,
  last_error: null,
  replicas: [{ address: "10.42.3.18", state: "degraded", error: null, report: stockReport(backend) }],
});

export const platformStateHandlers = {
  getPlatformHealth: (context) => {
    asAdmin(context);
    return { state: "degraded", checked_at: now(), modules: [moduleOf(context.backend)] };
  },
  getPlatformIsolation: (context) => {
    asAdmin(context);
    const unitsIn = (name: string) =>
      context.backend.stock
        .filter((row) => row.datacenter.name === name)
        .reduce((sum, row) => sum + row.available + row.inactive + row.used, 0);
    return {
      datacenters: context.backend.datacenters
        .map(({ name }) => ({ name, units: unitsIn(name) }))
        .filter(({ units }) => units > 0)
        .map(({ name, units }) => {
          const isIsolated = name === "uk-1" || name === "de-2";
          return {
            datacenter: name,
            running: isIsolated ? units : 0,
            refusing: isIsolated ? 0 : units,
            reports: [
              isIsolated
                ? { reason: "Isolated", message: "kata-qemu-nvidia-gpu", units }
                : {
                    reason: "NoIsolatedRuntime",
                    message: "The cluster has no isolated RuntimeClass.",
                    units,
                  },
            ],
          };
        }),
    };
  },
  listTenants: (context) => {
    asAdmin(context);
    return pageOf(context.backend.tenants, context.query);
  },
} satisfies Partial<Handlers>;
