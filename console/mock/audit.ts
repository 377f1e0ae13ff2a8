import type { AuditEntry, TenantId } from "../src/api/generated/types";
import type { Caller, MockRequest } from "./http.ts";
import { now } from "./times.ts";

export const auditSources = ["people", "instances", "storages", "jobs"] as const;
export type AuditSource = (typeof auditSources)[number];

/** Newest last, as they are appended. */
export type AuditLog = Record<AuditSource, (AuditEntry & { tenant_id: TenantId })[]>;

const prefixes: [RegExp, AuditSource][] = [
  [/^\/v1\/(instances|ssh-keys|registry-credentials)/, "instances"],
  [/^\/v1\/storages/, "storages"],
  [/^\/v1\/(jobs|job-batches|models|uploads|webhooks|mq-)/, "jobs"],
];

export const hashOf = (seed: string) => {
  let at = 2166136261;
  const parts = Array.from({ length: 8 }, (_, i) => {
    for (const letter of `${seed}${i}`) at = Math.imul(at ^ letter.charCodeAt(0), 16777619);
    return (at >>> 0).toString(16).padStart(8, "0");
  });
  return parts.join("");
};

export function append(
  log: AuditLog,
  source: AuditSource,
  tenant_id: TenantId,
  entry: Omit<AuditEntry, "number" | "hash" | "request_id">,
) {
  const number = log[source].filter((it) => it.tenant_id === tenant_id).length + 1;
  const hash = hashOf(`${source} ${number} ${entry.operation} ${entry.at}`);
  log[source].push({
    ...entry,
    tenant_id,
    number,
    hash,
    request_id: entry.service && !entry.user_id ? null : hash.slice(0, 32),
  });
}

const fieldsOf = (body: unknown) => (body && typeof body === "object" ? Object.keys(body) : []);
const idOf = (body: unknown) =>
  body && typeof body === "object" && "id" in body && typeof body.id === "string" ? body.id : null;

/** What a write leaves in the log of its service. */
export function recordWrite(
  log: AuditLog,
  request: MockRequest,
  template: string,
  caller: Caller | null,
  reply: { status: number; body?: unknown },
) {
  const tenant = caller?.session.tenant_id;
  if (request.method === "GET" || !caller || !tenant || template.endsWith("/quote")) return;
  const source = prefixes.find(([pattern]) => pattern.test(request.path))?.[1] ?? "people";
  const id = idOf(reply.body);
  append(log, source, tenant, {
    at: now(),
    user_id: caller.user.id,
    session_id: caller.session.id,
    api_key_id: null,
    is_admin: false,
    service: null,
    operation: `${request.method} ${template}`,
    path: request.path,
    created: request.method === "POST" && template === request.path && id ? `${request.path}/${id}` : null,
    fields: fieldsOf(request.body),
    status: reply.status,
    address: caller.session.address,
    user_agent: request.headers.get("user-agent"),
  });
}
