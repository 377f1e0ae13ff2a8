import type {
  Event,
  EventActor,
  EventDetail,
  InstanceId,
  ReasonCode,
  TenantId,
} from "../src/api/generated/types";
import type { Backend } from "./backend.ts";
import { nextId } from "./ids.ts";
import { now } from "./times.ts";

export const eventsOf = (backend: Backend, tenant: TenantId | null) =>
  backend.events.filter((it) => it.tenant_id === tenant);

/** What happened, told to everybody of the tenant who follows. */
export function record(
  backend: Backend,
  tenant: TenantId,
  instance: InstanceId | null,
  detail: EventDetail,
  more: { actor?: EventActor; reason?: ReasonCode | null; message?: string | null } = {},
) {
  const event: Event = {
    ...detail,
    id: nextId(backend, "evt"),
    sequence: (eventsOf(backend, tenant).at(-1)?.sequence ?? 0) + 1,
    time: now(),
    tenant_id: tenant,
    instance_id: instance,
    actor: more.actor ?? { kind: "system" },
    reason: more.reason ?? null,
    message: more.message ?? null,
  };
  backend.events.push(event);
  for (const stream of backend.streams)
    if (stream.tenant_id === tenant) stream.tell("gpu", event.sequence, event);
}
