import { call } from "./client";
import { updateSession } from "./generated/operations";
import type { TenantId } from "./generated/types";
import { sessionChanged } from "./session";

/** The session acts for another tenant from now on, in all tabs. */
export async function switchTenant(id: TenantId): Promise<void> {
  await call(updateSession, { body: { tenant_id: id } });
  sessionChanged("session-changed");
}
