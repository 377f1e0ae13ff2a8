import type {
  Event,
  EventActor,
  EventDetail,
  InstanceId,
  ReasonCode,
  TenantId,
} from "../src/api/generated/types";
import { type Caller, type MockReply, type MockRequest, Refusal } from "./types.ts";
import { nextId, now, type Stream, type World } from "./world.ts";

export const eventsOf = (world: World, tenant: TenantId | null) =>
  world.events.filter((it) => it.tenant_id === tenant);

const asText = (event: Event) =>
  `id: ${event.sequence}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

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
  for (const stream of world.streams) if (stream.tenant_id === tenant) stream.send(asText(event));
}

/** The stream of events: first the position, or what came after the given one. */
export function follow(world: World, request: MockRequest, caller: Caller): MockReply {
  const tenant = caller.session.tenant_id;
  const known = eventsOf(world, tenant);
  const newest = known.at(-1)?.sequence ?? 0;
  const wanted = request.headers.get("last-event-id") ?? request.query.get("after") ?? "0";
  const after = wanted === "latest" ? newest : Number(wanted);
  if (after > newest) throw new Refusal("events-deleted", { members: { oldest: 0, newest } });
  return {
    status: 200,
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
    stream: ({ send, end }, signal) => {
      send(`retry: 1000\nid: ${after}\n\n`);
      for (const event of known) if (event.sequence > after) send(asText(event));
      const stream: Stream = {
        user_id: caller.user.id,
        tenant_id: tenant,
        send,
        end: () => {
          world.streams.delete(stream);
          end();
        },
      };
      world.streams.add(stream);
      const beat = setInterval(() => send(": still here\n\n"), 15_000);
      signal.addEventListener("abort", () => {
        clearInterval(beat);
        world.streams.delete(stream);
      });
    },
  };
}
