import { redirect } from "@tanstack/react-router";
import type { Me, TenantId } from "@/api/generated/types";

/** For pages of a tenant: its id, or the way to the invitations for those who act for none. */
export function tenantOf(me: Me): TenantId {
  if (!me.tenant_id) throw redirect({ to: "/invitations", replace: true });
  return me.tenant_id;
}
