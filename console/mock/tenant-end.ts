import type { Operation, Tenant, TenantStep } from "../src/api/generated/types";
import type { Backend } from "./backend.ts";
import { set } from "./drive.ts";
import { nextId } from "./ids.ts";
import { now } from "./times.ts";

/** What a service has done after so long, in milliseconds. */
const STEP = 900;
/** When the services began with what is asked of a tenant now. */
const began = new WeakMap<Tenant, { at: number; instances: number; jobs: number; storages: number }>();

const ownInstances = (backend: Backend, tenant: Tenant) =>
  backend.instances.filter((kept) => kept.tenant_id === tenant.id);
const ownStorages = (backend: Backend, tenant: Tenant) =>
  backend.storages.filter((it) => it.tenant_id === tenant.id);

const step = (service: string, remaining: Record<string, number>): TenantStep => {
  const left = Object.fromEntries(Object.entries(remaining).filter(([, count]) => count > 0));
  return { service, done: Object.keys(left).length === 0, remaining: left, message: null };
};

/** Access ends at once; what is being started stops, and with `stop` all that runs. */
export function beginSuspension(backend: Backend, tenant: Tenant, stop: boolean) {
  const stopped = ownInstances(backend, tenant).filter(
    ({ it }) => (stop && it.state === "running") || it.state === "starting" || it.state === "pending",
  );
  for (const kept of stopped) set(kept, { state: "stopping", reason: "tenant_suspended", started_at: null });
  Object.assign(tenant, { state: "suspended", stop_instances: stop, delete_storages_at: null });
  began.set(tenant, { at: Date.now(), instances: stopped.length, jobs: 2, storages: 0 });
  for (const session of backend.sessions) if (session.tenant_id === tenant.id) session.tenant_id = null;
  for (const stream of [...backend.streams]) if (stream.tenant_id === tenant.id) stream.end();
  settle(backend, tenant);
}

export function deleteTenant(backend: Backend, tenant: Tenant, hours: number): Operation {
  takeBack(backend, tenant);
  const operation: Operation = {
    id: nextId(backend, "op"),
    kind: "delete_tenant",
    target: tenant.id,
    state: "running",
    progress: { phase: null, percent: null, reason: null, message: null },
    problem: null,
    created_at: now(),
    updated_at: now(),
    finished_at: null,
  };
  backend.platform.deletions.push({ tenant_id: tenant.id, operation });
  Object.assign(tenant, {
    state: "deleting",
    stop_instances: true,
    delete_storages_at: new Date(Date.now() + hours * 3_600_000).toISOString(),
    updated_at: now(),
  });
  began.set(tenant, {
    at: Date.now(),
    instances: ownInstances(backend, tenant).length,
    jobs: 3,
    storages: ownStorages(backend, tenant).length,
  });
  settle(backend, tenant);
  return operation;
}

/** A new state ends a deletion. */
export function takeBack(backend: Backend, tenant: Tenant) {
  for (const { tenant_id, operation } of backend.platform.deletions)
    if (tenant_id === tenant.id && operation.state === "running")
      Object.assign(operation, { state: "cancelled", finished_at: now() });
  tenant.delete_storages_at = null;
}

/** How far the services are by now. */
export function settle(backend: Backend, tenant: Tenant) {
  const work = began.get(tenant);
  if (!work || tenant.state === "active") return;
  const rounds = Math.floor((Date.now() - work.at) / STEP);
  const left = (count: number, delay = 0) => Math.max(0, count - Math.max(0, rounds - delay));
  const isDue = tenant.delete_storages_at !== null && Date.parse(tenant.delete_storages_at) <= Date.now();
  const instances = rounds < 1 ? work.instances : left(work.instances, 1);
  const storages = isDue ? left(work.storages, 2) : work.storages;
  const isDeleting = tenant.state === "deleting";
  tenant.steps = [
    step("gpu", { instances }),
    step("jobs", { jobs: left(work.jobs, 1) }),
    step("storage", isDeleting ? { storages } : {}),
  ];
  const own = ownInstances(backend, tenant);
  if (isDeleting)
    backend.instances = backend.instances.filter(
      (kept) => kept.tenant_id !== tenant.id || own.indexOf(kept) < instances,
    );
  else
    for (const kept of own.filter(({ it }) => it.state === "stopping").slice(instances))
      set(kept, { state: "stopped", reason: "tenant_suspended", message: "The tenant is suspended." });
  if (isDeleting && isDue && tenant.steps.every((it) => it.done)) remove(backend, tenant);
}

function remove(backend: Backend, tenant: Tenant) {
  backend.tenants = backend.tenants.filter((it) => it !== tenant);
  backend.storages = backend.storages.filter((it) => it.tenant_id !== tenant.id);
  backend.members.delete(tenant.id);
  for (const { tenant_id, operation } of backend.platform.deletions)
    if (tenant_id === tenant.id && operation.state === "running")
      Object.assign(operation, { state: "succeeded", finished_at: now() });
}
