import type {
  Event,
  EventActor,
  EventDetail,
  MeteredRun,
  ReasonCode,
  TenantId,
  UserId,
} from "../src/api/generated/types";
import { makeId } from "./ids.ts";
import type { Kept } from "./kept.ts";

type Told = EventDetail & {
  tenant_id: TenantId;
  instance_id: Event["instance_id"];
  time: string;
  actor: EventActor;
  reason: ReasonCode | null;
  message: string | null;
};

const shifted = (at: string, seconds: number) => new Date(Date.parse(at) + seconds * 1000).toISOString();

/** What has happened to instances until now, as if the platform had written it down. */
export function historyOf(instances: Kept[], mira: UserId): Event[] {
  for (const { runs } of instances) runs.sort((a, b) => Date.parse(b.started_at) - Date.parse(a.started_at));
  const told = instances.flatMap((kept) => storyOf(kept, mira));
  told.sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
  const last = new Map<TenantId, number>();
  return told.map((event, i) => {
    const sequence = (last.get(event.tenant_id) ?? 0) + 1;
    last.set(event.tenant_id, sequence);
    return { ...event, id: makeId<Event["id"]>("evt", 5000 + i), sequence };
  });
}

function storyOf(kept: Kept, mira: UserId): Told[] {
  const { it, tenant_id } = kept;
  const system: EventActor = { kind: "system" };
  const user: EventActor = { kind: "user", user_id: mira };
  const told: Told[] = [];
  const tell = (
    time: string,
    detail: EventDetail,
    actor: EventActor = system,
    why: [ReasonCode | null, string | null] = [null, null],
  ) =>
    told.push({
      ...detail,
      tenant_id,
      instance_id: it.id,
      time,
      actor,
      reason: why[0],
      message: why[1],
    });
  const operation = { operation_id: it.operation_id };
  const claim = (at: string) => {
    for (const { storage_id } of it.storages)
      tell(shifted(at, 4), { type: "instance.storage_attached", data: { storage_id } });
    tell(shifted(at, 1), {
      type: "instance.unit_claimed",
      data: {
        unit_id: makeId("unit", 7),
        datacenter_id: makeId("dc", 1),
        datacenter: it.datacenter ?? "uk-1",
        price_per_hour: it.price_per_hour,
        currency: it.currency,
      },
    });
  };
  tell(
    it.created_at,
    {
      type: "instance.created",
      data: {
        name: it.name,
        gpu_spec_id: it.gpu_spec.id,
        gpu_spec: it.gpu_spec.name,
        service: it.service ?? "",
        version: it.version ?? "",
        storage_id: it.storage_id,
        storage_ids: it.storages.map((one) => one.storage_id),
        datacenter_id: null,
        price_per_hour: it.price_per_hour,
        currency: it.currency,
        ...operation,
      },
    },
    user,
  );
  kept.attempt = 0;
  for (const run of kept.runs.toReversed()) ran(run);
  if (it.state === "starting") {
    const asked = shifted(new Date().toISOString(), -26);
    kept.attempt++;
    tell(asked, { type: "instance.start_requested", data: operation }, user);
    claim(asked);
  }
  if (it.reason === "image_pull_failed") {
    const asked = shifted(new Date().toISOString(), -5400);
    const why: [ReasonCode, string | null] = [it.reason, it.message];
    kept.attempt++;
    tell(asked, { type: "instance.start_requested", data: operation }, user);
    claim(asked);
    tell(
      shifted(asked, 131),
      { type: "instance.start_failed", data: { attempt: kept.attempt } },
      system,
      why,
    );
    tell(shifted(asked, 131), { type: "instance.stopped", data: { cause: "failure" } }, system, why);
  }
  return told;

  function ran(run: MeteredRun) {
    const asked = shifted(run.started_at, -39);
    const attempt = ++kept.attempt;
    tell(asked, { type: "instance.start_requested", data: operation }, user);
    claim(asked);
    tell(run.started_at, {
      type: "instance.started",
      data: { attempt, started_at: run.started_at, node: `${it.datacenter}-gpu-07` },
    });
    if (!run.ended_at) return;
    const failed = it.reason === "node_lost";
    if (!failed)
      tell(
        shifted(run.ended_at, -2),
        { type: "instance.stop_requested", data: { operation_id: it.operation_id } },
        user,
      );
    tell(
      run.ended_at,
      {
        type: "instance.run_ended",
        data: {
          attempt,
          started_at: run.started_at,
          ended_at: run.ended_at,
          end_reason: failed ? "node_lost" : "stopped",
        },
      },
      system,
    );
    if (failed)
      tell(run.ended_at, { type: "instance.failed", data: { attempt } }, system, [it.reason, it.message]);
    tell(shifted(run.ended_at, 1), {
      type: "instance.stopped",
      data: { cause: failed ? "failure" : "user" },
    });
  }
}
