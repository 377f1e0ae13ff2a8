import type { Me, Role } from "@/api/generated/types";

/** What a person may do, by the least role that may. Administrators of the platform act in tenants by their role there. */
const needs = {
  "members.invite": "owner",
  "members.change": "owner",
  "members.remove": "owner",
  "audit.read": "owner",
  "tenant.rename": "owner",
  "keys.write": "viewer",
  "instances.write": "member",
  "storages.write": "member",
  "credentials.write": "member",
  "credentials.takeOver": "owner",
  "jobs.write": "member",
  "webhooks.write": "member",
  "webhooks.takeOver": "owner",
  "queue.write": "member",
  "queue.takeOver": "owner",
} as const satisfies Record<string, Role>;

export type Action = keyof typeof needs;
export type Refusal = "no-tenant" | "needs-member" | "needs-owner";

const rank: Record<Role, number> = { viewer: 0, member: 1, owner: 2 };

/** Why the caller may not, or null if they may. The API decides; this only says so before the press. */
export function refusalOf(me: Pick<Me, "tenant_id" | "role">, action: Action): Refusal | null {
  if (!me.tenant_id || !me.role) return "no-tenant";
  const least = needs[action];
  if (rank[me.role] >= rank[least]) return null;
  return least === "owner" ? "needs-owner" : "needs-member";
}
