import { environment } from "./client";
import type { TenantId } from "./generated/types";
import { problemOf } from "./problem";
import { sessionChanged } from "./session";

/** The session acts for another tenant from now on, in all tabs. */
export async function switchTenant(id: TenantId): Promise<void> {
  const response = await environment.fetch("/v1/sessions/current", {
    method: "PATCH",
    credentials: "same-origin",
    headers: { "content-type": "application/json", "idempotency-key": crypto.randomUUID() },
    body: JSON.stringify({ tenant_id: id }),
  });
  if (!response.ok) throw await problemOf(response);
  sessionChanged("session-changed");
}
