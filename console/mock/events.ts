import type {
  Event,
  EventActor,
  EventDetail,
  InstanceId,
  ReasonCode,
  TenantId,
} from "../src/api/generated/types";
import { nextId } from "./ids.ts";
import { now } from "./times.ts";
import type { World } from "./world.ts";

export const eventsOf = (world: World, tenant: TenantId | null) =>
  world.events.filter((it) => it.tenant_id === tenant);

/** What happened, told to everybody of the tenant who follows. */
export function record(
  world: World,
  tenant: TenantId,
  instance: InstanceId | null,
  detail: EventDetail,
  more: { actor?: EventActor; reason?: ReasonCode | null; message?: string | null } = {},
) {
  const event: Event = {
    ...detail,
    id: nextId(world, "evt"),
    sequence: (eventsOf(world, tenant).at(-1)?.sequence ?? 0) + 1,
    time: now(),
    tenant_id: tenant,
    instance_id: instance,
    actor: more.actor ?? { kind: "system" },
    reason: more.reason ?? null,
    message: more.message ?? null,
  };
  world.events.push(event);
  for (const stream of world.streams)
    if (stream.tenant_id === tenant) stream.tell("gpu", event.sequence, event);
}
