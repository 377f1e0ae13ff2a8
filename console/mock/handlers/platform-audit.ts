import type { AuditEntry, AuditVerification, TenantId } from "../../src/api/generated/types";
import { asAdmin } from "../admin.ts";
import { hashOf } from "../audit.ts";
import { pageOf } from "../page.ts";
import { hoursAgo } from "../times.ts";
import type { Context, Handlers } from "../types.ts";

const operations = {
  identity: [
    "POST /v1/sessions",
    "PATCH /v1/users/{id}",
    "POST /v1/tenants/{id}/invitations",
    "PATCH /v1/tenants/{id}",
  ],
  gpu: [
    "POST /v1/instances",
    "POST /v1/instances/{id}/stop",
    "POST /v1/platform-instances/{id}/stop",
    "DELETE /v1/instances/{id}",
  ],
  stock: ["POST /v1/stock/additions", "PATCH /v1/gpu-specs/{id}"],
  storage: ["POST /v1/storages", "DELETE /v1/storages/{id}"],
  jobs: ["POST /v1/jobs", "POST /v1/jobs/{id}/cancel", "POST /v1/job-batches"],
} as const;
type Log = keyof typeof operations;

/** What the paths of each are about. */
const kinds: Record<Log, string> = {
  identity: "ten",
  gpu: "inst",
  stock: "gspec",
  storage: "stor",
  jobs: "job",
};

/** Different services are busy at different rates, in entries that one day has. */
const perDay: Record<Log, number> = { identity: 14, gpu: 40, stock: 2, storage: 6, jobs: 90 };
const kept: Record<Log, number> = { identity: 130, gpu: 180, stock: 14, storage: 60, jobs: 220 };

interface Query {
  tenant_id?: TenantId;
  limit?: number;
  cursor?: string;
}

function entriesOf({ backend }: Context, log: Log): (AuditEntry & { tenant_id: TenantId | null })[] {
  const tenants = [...backend.members].filter(([, members]) => members.length > 0);
  return Array.from({ length: kept[log] }, (_, i) => {
    const [tenant_id, members] = tenants[(i * 7) % tenants.length] ?? [null, []];
    const operation = operations[log][(i * 5) % operations[log].length] ?? "";
    const isPlatform = log === "stock" || operation.includes("platform");
    const who = isPlatform
      ? backend.accounts.find((it) => it.user.admin)?.user.id
      : members[i % members.length]?.user_id;
    const id = `${kinds[log]}_${(i * 2654435761).toString(16).padStart(12, "0")}`;
    return {
      tenant_id: isPlatform ? null : tenant_id,
      number: kept[log] - i,
      at: hoursAgo(((i + 0.3) * 24) / perDay[log]),
      user_id: i % 17 === 3 ? null : (who ?? null),
      session_id: null,
      api_key_id: null,
      is_admin: isPlatform,
      service: i % 17 === 3 ? "jobs" : null,
      operation,
      path: operation.replace(/^\w+ /, "").replace("{id}", id),
      created: null,
      fields: [],
      status: i % 13 === 5 ? 409 : operation.startsWith("POST") ? 201 : 200,
      request_id: `req${log}${i}`,
      address: `203.0.113.${(i * 3) % 250}`,
      user_agent: "Mozilla/5.0",
      hash: hashOf(`${log} ${i}`),
    };
  });
}

const list = (log: Log) => (context: Context & { query: Query }) => {
  asAdmin(context);
  const { query } = context;
  const own = entriesOf(context, log).filter((it) => !query.tenant_id || it.tenant_id === query.tenant_id);
  return pageOf(
    own.map(({ tenant_id: _, ...it }) => it),
    query,
  );
};

const verify =
  (log: Log) =>
  (context: Context): AuditVerification => {
    asAdmin(context);
    const { brokenAudit } = context.backend.platform;
    return {
      chains: context.backend.tenants.length + 1,
      entries: kept[log] * 31,
      broken:
        brokenAudit && log === "storage"
          ? [{ tenant_id: context.backend.tenants[3]?.id ?? null, number: 17 }]
          : [],
    };
  };

export const platformAuditHandlers = {
  listPlatformAuditEntries: list("identity"),
  listPlatformInstanceAuditEntries: list("gpu"),
  listPlatformStockAuditEntries: list("stock"),
  listPlatformStorageAuditEntries: list("storage"),
  listPlatformJobAuditEntries: list("jobs"),
  getPlatformAuditVerification: verify("identity"),
  getPlatformInstanceAuditVerification: verify("gpu"),
  getPlatformStockAuditVerification: verify("stock"),
  getPlatformStorageAuditVerification: verify("storage"),
  getPlatformJobAuditVerification: verify("jobs"),
} satisfies Partial<Handlers>;
