import { redirect } from "@tanstack/react-router";
import { useState } from "react";
import type { Me, TenantId } from "@/api/generated/types";
import { useMe } from "@/api/session";

/** For loaders of a tenant's pages: its id, or the way to the invitations for those who act for none. */
export function tenantOf(me: Me): TenantId {
  if (!me.tenant_id) throw redirect({ to: "/invitations", replace: true });
  return me.tenant_id;
}

/** For pages whose loader has asked for it. Who is no member any more leaves the page with its last tenant. */
export function useTenant(): TenantId {
  const { tenant_id } = useMe();
  const [last, setLast] = useState(tenant_id);
  if (tenant_id && tenant_id !== last) setLast(tenant_id);
  const tenant = tenant_id ?? last;
  if (!tenant) throw new Error("only pages of a tenant know it");
  return tenant;
}
