import { asCurl, call } from "@/api/client";
import { updateTenant } from "@/api/generated/operations";
import type { Tenant, TenantChange } from "@/api/generated/types";
import { useAct } from "@/api/query";

/** Sends a change of the version that is shown. */
export function useTenantChange(it: Tenant, onDone: (changed: Tenant) => void) {
  return useAct((body: TenantChange, key) => call(updateTenant, { path: { id: it.id }, body }, { key }), {
    touches: [
      ["platform", "tenants"],
      ["platform", "instances"],
    ],
    onDone,
  });
}

export const changeCurl = (it: Tenant, body: TenantChange) =>
  asCurl(updateTenant, { path: { id: it.id }, body });
