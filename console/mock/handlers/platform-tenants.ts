import type { BudgetTerms, Limits, StorageLimits, TenantId } from "../../src/api/generated/types";
import { asAdmin, changing, reasonOf, tagged, wrong } from "../admin.ts";
import { nextId } from "../ids.ts";
import { pageOf } from "../page.ts";
import { beginSuspension, deleteTenant, settle, takeBack } from "../tenant-end.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal, Reply } from "../types.ts";

export function tenantOf(context: Context, id: TenantId) {
  asAdmin(context);
  for (const one of [...context.backend.tenants]) settle(context.backend, one);
  const tenant = context.backend.tenants.find((it) => it.id === id);
  if (!tenant) throw new Refusal("not-found");
  return tenant;
}

function freeName({ backend }: Context, name: string, own?: TenantId) {
  if (!name.trim() || name.length > 100) throw wrong("name", "must have 1 to 100 characters");
  if (backend.tenants.some((it) => it.id !== own && it.name.toLowerCase() === name.toLowerCase()))
    throw new Refusal("name-taken");
}

type Kept<Value> = Map<TenantId, Value>;

/** What is set for the tenant; 204 without it. */
function ifSet<Value, Shown>(
  context: Context & { path: { tenant_id: TenantId } },
  kept: Kept<Value>,
  shown: (tenant_id: TenantId, value: Value) => Shown,
) {
  const { tenant_id } = context.path;
  tenantOf(context, tenant_id);
  const value = kept.get(tenant_id);
  return value === undefined ? undefined : tagged(context, shown(tenant_id, value));
}

function put<Value>(context: Context, kept: Kept<Value>, id: TenantId, value: Value) {
  tenantOf(context, id);
  reasonOf(context);
  changing(context);
  kept.set(id, value);
}

function remove<Value>(context: Context, kept: Kept<Value>, id: TenantId) {
  tenantOf(context, id);
  if (!kept.has(id)) throw new Refusal("not-found");
  reasonOf(context);
  kept.delete(id);
}

const listOf = <Value, Shown>(kept: Kept<Value>, shown: (tenant_id: TenantId, value: Value) => Shown) =>
  [...kept].map(([id, value]) => shown(id, value));

const quota = (tenant_id: TenantId, limits: Limits) => ({ tenant_id, limits });
const storageQuota = (tenant_id: TenantId, limits: StorageLimits) => ({ tenant_id, limits });
const budget = (tenant_id: TenantId, terms: BudgetTerms) => ({ tenant_id, terms });

export const platformTenantHandlers = {
  listTenants: (context) => {
    asAdmin(context);
    const { backend, query } = context;
    for (const one of [...backend.tenants]) settle(backend, one);
    const prefix = String(query.name_prefix ?? "").toLowerCase();
    return pageOf(
      backend.tenants.filter(
        (it) => it.name.toLowerCase().startsWith(prefix) && (!query.state || it.state === query.state),
      ),
      query,
    );
  },
  getTenant: (context) => tagged(context, tenantOf(context, context.path.id)),
  createTenant: (context) => {
    asAdmin(context);
    const { backend, body } = context;
    freeName(context, body.name);
    const tenant = {
      id: nextId<TenantId>(backend, "ten"),
      name: body.name.trim(),
      state: "active" as const,
      stop_instances: false,
      delete_storages_at: null,
      steps: [],
      created_at: now(),
      updated_at: now(),
    };
    backend.tenants.push(tenant);
    backend.members.set(tenant.id, []);
    return new Reply(tenant, 201);
  },
  updateTenant: (context) => {
    const { backend, body, path } = context;
    const tenant = tenantOf(context, path.id);
    if (body.name) freeName(context, body.name, tenant.id);
    changing(context);
    if (body.name) tenant.name = body.name.trim();
    if (body.state) takeBack(backend, tenant);
    if (body.state === "active") Object.assign(tenant, { state: "active", stop_instances: false, steps: [] });
    if (body.state === "suspended") beginSuspension(backend, tenant, body.stop_instances ?? false);
    tenant.updated_at = now();
    return tagged(context, tenant);
  },
  deleteTenant: (context) => {
    const { backend, path, query } = context;
    const tenant = tenantOf(context, path.id);
    if (tenant.state === "active") throw new Refusal("tenant-active");
    if (backend.members.get(tenant.id)?.some((it) => it.role !== "owner"))
      throw new Refusal("tenant-has-members");
    return new Reply(deleteTenant(backend, tenant, query.storage_grace_hours ?? 168), 202);
  },
  getTenantOperation: (context) => {
    asAdmin(context);
    const { backend, path } = context;
    for (const one of [...backend.tenants]) settle(backend, one);
    const deletion = backend.platform.deletions.find((it) => it.operation.id === path.id);
    if (!deletion) throw new Refusal("not-found");
    return deletion.operation;
  },
  addMember: (context) => {
    const { backend, path, body } = context;
    tenantOf(context, path.id);
    const user = backend.accounts.find((it) => it.user.id === body.user_id)?.user;
    if (!user) throw wrong("user_id", "There is no such user.");
    const members = backend.members.get(path.id) ?? [];
    if (members.some((it) => it.user_id === user.id)) throw new Refusal("already-a-member");
    const member = {
      user_id: user.id,
      email: user.email,
      display_name: user.display_name,
      role: body.role,
      created_at: now(),
      updated_at: now(),
    };
    backend.members.set(path.id, [...members, member]);
    return new Reply(member, 201);
  },
  listPlatformQuotas: (context) => {
    asAdmin(context);
    return pageOf(listOf(context.backend.platform.quotas, quota), context.query);
  },
  getPlatformQuota: (context) => ifSet(context, context.backend.platform.quotas, quota),
  putPlatformQuota: (context) => {
    const { tenant_id } = context.path;
    put(context, context.backend.platform.quotas, tenant_id, context.body);
    if (context.backend.tenants[0]?.id === tenant_id) context.backend.limits = context.body;
    return tagged(context, quota(tenant_id, context.body));
  },
  deletePlatformQuota: (context) => {
    remove(context, context.backend.platform.quotas, context.path.tenant_id);
  },
  listPlatformStorageQuotas: (context) => {
    asAdmin(context);
    return pageOf(listOf(context.backend.platform.storageQuotas, storageQuota), context.query);
  },
  getPlatformStorageQuota: (context) => ifSet(context, context.backend.platform.storageQuotas, storageQuota),
  putPlatformStorageQuota: (context) => {
    const { tenant_id } = context.path;
    put(context, context.backend.platform.storageQuotas, tenant_id, context.body);
    return tagged(context, storageQuota(tenant_id, context.body));
  },
  deletePlatformStorageQuota: (context) => {
    remove(context, context.backend.platform.storageQuotas, context.path.tenant_id);
  },
  listPlatformBudgets: (context) => {
    asAdmin(context);
    return pageOf(listOf(context.backend.platform.budgets, budget), context.query);
  },
  getPlatformBudget: (context) => ifSet(context, context.backend.platform.budgets, budget),
  putPlatformBudget: (context) => {
    const { tenant_id } = context.path;
    if (!/^\d+(\.\d{1,6})?$/.test(context.body.amount)) throw wrong("amount", "must be a decimal number");
    put(context, context.backend.platform.budgets, tenant_id, context.body);
    return tagged(context, budget(tenant_id, context.body));
  },
  deletePlatformBudget: (context) => {
    remove(context, context.backend.platform.budgets, context.path.tenant_id);
  },
} satisfies Partial<Handlers>;
