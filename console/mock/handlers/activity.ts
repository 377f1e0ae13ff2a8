import type { AuditSource } from "../audit.ts";
import { pageOf } from "../page.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal } from "../types.ts";
import { roleIn } from "./sessions.ts";

interface Query {
  by?: "person" | "service";
  limit?: number;
  cursor?: string;
}

/** Newest first, for owners. */
const list =
  (source: AuditSource) =>
  ({ backend, caller, query }: Context & { query: Query }) => {
    const tenant = caller.session.tenant_id;
    if (roleIn(backend, tenant, caller.user.id) !== "owner") throw new Refusal("forbidden");
    const own = backend.audit[source].filter(
      (it) => it.tenant_id === tenant && (!query.by || (query.by === "service") === (it.user_id === null)),
    );
    return pageOf(
      own.toReversed().map(({ tenant_id: _, ...entry }) => entry),
      query,
    );
  };

export const activityHandlers = {
  listAuditEntries: list("people"),
  listInstanceAuditEntries: list("instances"),
  listStorageAuditEntries: list("storages"),
  listJobAuditEntries: list("jobs"),
} satisfies Partial<Handlers>;
