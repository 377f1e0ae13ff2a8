import type { Instance, NewInstance, Quote } from "../../src/api/generated/types";
import { alternativesTo, releaseHold, remove, restart, start, stop } from "../drive.ts";
import { eventsOf, record } from "../events.ts";
import { makeSortedId, nextId } from "../ids.ts";
import type { Kept } from "../kept.ts";
import { pageOf, several, sortedPage } from "../page.ts";
import { daysAgo, now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal, Reply } from "../types.ts";
import { asMember } from "./as-member.ts";
import { usedBy } from "./catalogue.ts";
import { makeStorage } from "./storages.ts";

const etag = (it: Instance) => ({ etag: `"${Date.parse(it.updated_at)}"` });

const own = ({ backend, caller }: Context) =>
  backend.instances
    .filter((kept) => kept.tenant_id === caller.session.tenant_id)
    .sort((a, b) => (a.it.id < b.it.id ? 1 : -1));

export function keptOf(context: Context, id: string): Kept {
  const kept = own(context).find(({ it }) => it.id === id);
  if (!kept) throw new Refusal("not-found");
  return kept;
}

const invalid = (pointer: string, detail: string) =>
  new Refusal("invalid-field", { errors: [{ pointer, detail }] });

export const by = ({ caller }: Context) => ({ actor: { kind: "user" as const, user_id: caller.user.id } });

/** An instance that the caller may act on, in one of the states. */
function actOn(context: Context & { path: { id: string } }, states: Instance["state"][]): Kept {
  asMember(context);
  const kept = keptOf(context, context.path.id);
  if (kept.it.managed_by)
    throw new Refusal("instance-managed", { members: { managed_by: kept.it.managed_by } });
  if (!states.includes(kept.it.state))
    throw new Refusal("instance-state", { members: { state: kept.it.state } });
  return kept;
}

type Requested = "start" | "stop" | "restart" | "deletion";

function requested(context: Context, { tenant_id, it }: Kept, what: Requested) {
  record(
    context.backend,
    tenant_id,
    it.id,
    { type: `instance.${what}_requested`, data: { operation_id: it.operation_id } },
    by(context),
  );
}

/** What is ordered, or the refusal that names the field. */
function check(context: Context, order: NewInstance) {
  const { backend } = context;
  const spec = backend.specs.find((it) => it.id === order.gpu_spec || it.name === order.gpu_spec);
  if (!spec) throw invalid("/gpu_spec", "There is no such GPU specification.");
  const versions = backend.services.filter((it) => it.service === order.service);
  if (versions.length === 0) throw invalid("/service", "There is no such service.");
  const image = order.version
    ? versions.find((it) => it.version === order.version)
    : versions.find((it) => it.recommended);
  if (!image || image.deprecated) throw invalid("/version", "New instances cannot use this version.");
  if (order.name && order.name.length > 63) throw invalid("/name", "Must have 1 to 63 characters.");
  if (order.idle_stop && order.idle_stop.after_seconds < 900)
    throw invalid("/idle_stop/after_seconds", "Must be from 900 to 604800.");
  for (const [i, variable] of (order.env ?? []).entries()) {
    if (!/^[A-Za-z_]\w*$/.test(variable.name))
      throw invalid(`/env/${i}/name`, "Only letters, digits and _, and no digit first.");
    if (/^hf_\w{8,}/.test(variable.value ?? ""))
      throw invalid(`/env/${i}/value`, "This looks like a secret. Enter it as a secret.");
  }
  const storage = order.storage_id ? backend.storages.find((it) => it.id === order.storage_id) : null;
  if (order.storage_id && !storage) throw invalid("/storage_id", "There is no such storage.");
  if (storage?.datacenter && order.datacenter && storage.datacenter !== order.datacenter)
    throw invalid("/datacenter", `The storage is in ${storage.datacenter}.`);
  return { spec, image, storage, place: storage?.datacenter ?? order.datacenter ?? null };
}

/** The limit that the order goes over, if any. */
function exceeded(context: Context, { spec }: ReturnType<typeof check>): Refusal | null {
  const { limits } = context.backend;
  const used = usedBy(context);
  const over = (quota: string, limit: number | null | undefined, of: number, more: number) =>
    limit !== null && limit !== undefined && of + more > limit
      ? new Refusal("quota-exceeded", { members: { quota, limit, used: of, requested: more } })
      : null;
  const total = Object.values(used.gpus).reduce((sum, it) => sum + it, 0);
  const price = Number(spec.price_per_hour);
  const limit = limits.cost_per_hour?.USD;
  const cost = Number(used.cost_per_hour.USD ?? "0");
  return (
    over("instances", limits.instances, used.instances, 1) ??
    over("gpus", limits.gpus, total, spec.gpu_count) ??
    over(
      `gpus of ${spec.gpu_model}`,
      limits.gpus_by_model?.[spec.gpu_model],
      used.gpus[spec.gpu_model] ?? 0,
      spec.gpu_count,
    ) ??
    (limit !== undefined && cost + price > Number(limit)
      ? new Refusal("cost-limit-exceeded", {
          members: { limit, used: cost.toFixed(2), requested: spec.price_per_hour, currency: "USD" },
        })
      : null)
  );
}

function order(context: Context & { body: NewInstance }): Reply<Instance> {
  const { backend, body, caller } = context;
  asMember(context);
  const found = check(context, body);
  const refusal = exceeded(context, found);
  if (refusal) throw refusal;
  const { spec, image, place } = found;
  const made = body.new_storage
    ? makeStorage(context, { ...body.new_storage, datacenter: place }, "/new_storage")
    : null;
  const storage = made ?? found.storage;
  const created_at = now();
  const id = makeSortedId<Instance["id"]>("inst", created_at, ++backend.next);
  const mount_path = body.new_storage?.mount_path ?? image.template.storage_mount_path ?? "/data";
  const it: Instance = {
    id,
    name: body.name ?? `${image.service}-${backend.next}`,
    managed_by: null,
    state: body.start === false ? "stopped" : "pending",
    reason: null,
    message: null,
    queue: null,
    alternatives: null,
    hold: null,
    log_tail: null,
    gpu_spec: { id: spec.id, name: spec.name },
    service: image.service,
    version: image.version,
    image: null,
    storage_id: storage?.id ?? null,
    on_node_loss: body.on_node_loss ?? "restart",
    idle_stop: body.idle_stop
      ? {
          after_seconds: body.idle_stop.after_seconds,
          gpu_below_percent: body.idle_stop.gpu_below_percent ?? 5,
          cpu_below_percent: body.idle_stop.cpu_below_percent ?? 10,
          idle_since: null,
          stop_at: null,
        }
      : null,
    storages: storage ? [{ storage_id: storage.id, mount_path, read_only: false }] : [],
    secrets: (body.secrets ?? []).map(({ name }) => ({ name, updated_at: created_at })),
    url: `https://${id.slice(5, 17)}.apps.atelier.example`,
    url_title: null,
    ports: [],
    node: null,
    datacenter: storage?.datacenter ?? place,
    operation_id: nextId(backend, "op"),
    price_per_hour: spec.price_per_hour,
    currency: spec.currency,
    created_at,
    updated_at: created_at,
    started_at: null,
  };
  const tenant_id = caller.session.tenant_id;
  if (!tenant_id) throw new Refusal("forbidden");
  storage?.attachments.push({ instance_id: id, mode: "read_write", since: created_at });
  const kept: Kept = {
    tenant_id,
    it,
    order: { ...body, datacenter: storage?.datacenter ?? place },
    runs: [],
    attempt: 0,
  };
  backend.instances.push(kept);
  record(
    backend,
    tenant_id,
    id,
    {
      type: "instance.created",
      data: {
        name: it.name,
        gpu_spec_id: spec.id,
        gpu_spec: spec.name,
        service: image.service,
        version: image.version,
        storage_id: it.storage_id,
        storage_ids: storage ? [storage.id] : [],
        datacenter_id: null,
        price_per_hour: it.price_per_hour,
        currency: it.currency,
        operation_id: it.operation_id,
      },
    },
    by(context),
  );
  if (body.start !== false) start(backend, kept, body.wait ?? false);
  return new Reply(it, 202);
}

function quoteOf(context: Context & { body: NewInstance }): Quote {
  const { backend, body } = context;
  const found = check(context, body);
  const { spec, place } = found;
  const rows = backend.stock.filter(
    (row) => row.gpu_spec.id === spec.id && (!place || row.datacenter.name === place),
  );
  const available = rows.reduce((sum, row) => sum + row.available, 0);
  const over = exceeded(context, found);
  const starts_now = available > 0 && !over;
  return {
    gpu_spec: { id: spec.id, name: spec.name },
    price_per_hour: spec.price_per_hour,
    currency: spec.currency,
    hold_price_per_hour: spec.hold_price_fraction
      ? (Number(spec.price_per_hour) * Number(spec.hold_price_fraction)).toFixed(3)
      : null,
    starts_now,
    available,
    reason: over ? "quota_exceeded" : available > 0 ? null : "stock_exhausted",
    message: over ? over.message : available > 0 ? null : `No unit of ${spec.name} is free.`,
    waiting: available > 0 ? 0 : 3,
    estimate: available > 0 ? null : { starts_at: daysAgo(-0.01), releases: 7, period_seconds: 7200 },
    alternatives: available > 0 ? [] : alternativesTo(backend, spec.name),
  };
}

export const instanceHandlers = {
  listInstances: (context) => {
    const { query } = context;
    const name = query.name === undefined ? "" : String(query.name).toLowerCase();
    const states = several(query.state);
    const found = own(context)
      .map(({ it }) => it)
      .filter(
        (it) => (states.length === 0 || states.includes(it.state)) && it.name.toLowerCase().includes(name),
      );
    return sortedPage(found, query, { name: (it) => it.name.toLowerCase() });
  },
  getInstance: (context) => {
    const { it } = keptOf(context, context.path.id);
    return new Reply(it, 200, etag(it));
  },
  createInstance: order,
  quoteInstance: quoteOf,
  startInstance: (context) => {
    const kept = actOn(context, ["stopped"]);
    requested(context, kept, "start");
    start(context.backend, kept, String(context.query.wait) === "true");
    return new Reply(kept.it, 202);
  },
  stopInstance: (context) => {
    const kept = actOn(context, ["pending", "starting", "running"]);
    const hold = context.body?.hold;
    requested(context, kept, "stop");
    const until =
      hold?.until ??
      (hold?.for_seconds ? new Date(Date.now() + hold.for_seconds * 1000).toISOString() : null);
    stop(context.backend, kept, until);
    return new Reply(kept.it, 202);
  },
  restartInstance: (context) => {
    const kept = actOn(context, ["running"]);
    requested(context, kept, "restart");
    restart(context.backend, kept);
    return new Reply(kept.it, 202);
  },
  deleteInstance: (context) => {
    const kept = actOn(context, ["pending", "starting", "running", "stopping", "stopped"]);
    requested(context, kept, "deletion");
    remove(context.backend, kept);
    return new Reply(kept.it, 202);
  },
  releaseInstanceHold: (context) => {
    const kept = actOn(context, ["stopped", "stopping"]);
    releaseHold(context.backend, kept);
    return new Reply(kept.it, 202);
  },
  createInstanceTicket: (context) => {
    const kept = actOn(context, ["running"]);
    // where the instance would answer, the stand-in has a picture
    return new Reply({ url: `/harbour.svg?instance=${kept.it.id}`, expires_at: daysAgo(-0.001) }, 201);
  },
  getInstanceUsage: (context) => {
    const { runs } = keptOf(context, context.path.id);
    const items = runs.map((run) => {
      const to = run.ended_at ? Date.parse(run.ended_at) : Date.now();
      const seconds = Math.floor((to - Date.parse(run.started_at)) / 1000);
      return { ...run, seconds, amount: ((Number(run.price_per_hour) * seconds) / 3600).toFixed(6) };
    });
    const total = (kind: "running" | "held") => items.filter((it) => it.kind === kind);
    const seconds = (kind: "running" | "held") => total(kind).reduce((sum, it) => sum + it.seconds, 0);
    return {
      ...pageOf(items, context.query),
      total_seconds: seconds("running"),
      held_seconds: seconds("held"),
      totals: [
        {
          kind: "running",
          currency: "USD",
          seconds: seconds("running"),
          amount: total("running")
            .reduce((sum, it) => sum + Number(it.amount), 0)
            .toFixed(6),
        },
      ],
    };
  },
  listEvents: (context) => {
    const { query, backend, caller } = context;
    const found = eventsOf(backend, caller.session.tenant_id).filter(
      (it) =>
        (!query.type || it.type === query.type) &&
        (!query.instance_id || it.instance_id === query.instance_id),
    );
    return pageOf(found.toReversed(), query);
  },
  listInstanceEvents: (context) => {
    keptOf(context, context.path.id);
    const found = eventsOf(context.backend, context.caller.session.tenant_id).filter(
      (it) => it.instance_id === context.path.id && (!context.query.type || it.type === context.query.type),
    );
    return pageOf(found.toReversed(), context.query);
  },
} satisfies Partial<Handlers>;
