import type { NewStorage, Storage } from "../../src/api/generated/types";
import type { StudioStorage } from "../backend.ts";
import { nextId } from "../ids.ts";
import { pageOf, several, sortedPage } from "../page.ts";
import { create, grow, remove } from "../storage-drive.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal, Reply } from "../types.ts";
import { asMember } from "./as-member.ts";

const own = ({ backend, caller }: Context) =>
  backend.storages.filter((it) => it.tenant_id === caller.session.tenant_id);

export function storageOf(context: Context, id: string): StudioStorage {
  const storage = own(context).find((it) => it.id === id);
  if (!storage) throw new Refusal("not-found");
  return storage;
}

const storageOrders = {
  name: (it: Storage) => it.name.toLowerCase(),
  size_gib: (it: Storage) => it.size_gib,
};

/** The list of storages, as the tenant or an administrator asks for it. */
export function storagePage<Item extends Storage>(
  storages: readonly StudioStorage[],
  query: { state?: unknown; kind?: unknown; name?: unknown; sort?: string; include?: unknown },
  shape: (it: StudioStorage) => Item,
) {
  const states = several(query.state);
  const name = String(query.name ?? "").toLowerCase();
  const found = storages.filter(
    (it) =>
      (states.length === 0 || states.includes(it.state)) &&
      (!query.kind || it.kind === query.kind) &&
      it.name.toLowerCase().includes(name),
  );
  return sortedPage(found.map(shape), query, storageOrders);
}

const used = (context: Context) => ({
  storages: own(context).length,
  gib: own(context).reduce((sum, it) => sum + it.size_gib, 0),
});

const shown = ({ tenant_id: _, ...it }: StudioStorage): Storage => it;
const etag = (it: Storage) => ({ etag: `"${Date.parse(it.updated_at)}"` });

function checkQuota(context: Context, added: { storages: number; gib: number }) {
  const has = used(context);
  const limits = context.backend.storageLimits;
  for (const [quota, name] of [
    ["storages", "storages"],
    ["storage_gib", "gib"],
  ] as const)
    if (added[name] > 0 && has[name] + added[name] > limits[name])
      throw new Refusal("quota-exceeded", {
        members: { quota, limit: limits[name], used: has[name], requested: added[name] },
      });
}

const isTaken = (context: Context, name: string, but?: StudioStorage) =>
  own(context).some((it) => it !== but && it.name.toLowerCase() === name.toLowerCase());

/** `at` is the pointer to what is ordered in the body. */
export function makeStorage(context: Context, order: NewStorage, at = "") {
  const { backend, caller } = context;
  const wrong = (name: string, detail: string) =>
    new Refusal("invalid-field", { errors: [{ pointer: `${at}${name}`, detail }] });
  const tenant_id = caller.session.tenant_id;
  const spec = backend.storageSpecs.find(
    (it) => it.id === order.storage_spec || it.name === order.storage_spec,
  );
  if (!spec || !tenant_id) throw wrong("/storage_spec", "There is no such specification.");
  if (!order.name.trim() || order.name.length > 100) throw wrong("/name", "Must have 1 to 100 characters.");
  const size_gib = order.size_gib ?? spec.min_size_gib;
  if (size_gib < spec.min_size_gib || size_gib > spec.max_size_gib)
    throw wrong("/size_gib", `Must be from ${spec.min_size_gib} to ${spec.max_size_gib}.`);
  if (
    spec.kind === "volume" &&
    order.datacenter &&
    !backend.datacenters.some((it) => it.name === order.datacenter)
  )
    throw wrong("/datacenter", "Volumes cannot be created in this datacenter.");
  if (isTaken(context, order.name))
    throw at
      ? new Refusal("invalid-field", { errors: [{ pointer: at, detail: "Another storage has this name." }] })
      : new Refusal("name-taken");
  checkQuota(context, { storages: 1, gib: size_gib });
  const id = nextId<Storage["id"]>(backend, "stor");
  const storage: StudioStorage = {
    tenant_id,
    id,
    name: order.name,
    kind: spec.kind,
    storage_spec: { id: spec.id, name: spec.name },
    size_gib,
    capacity_gib: null,
    state: "pending",
    reason: null,
    message: null,
    datacenter: spec.kind === "volume" ? (order.datacenter ?? backend.datacenters[0]?.name ?? null) : null,
    bucket: null,
    attachments: [],
    operation_id: nextId<Storage["operation_id"]>(backend, "op"),
    price_per_gib_month: spec.price_per_gib_month,
    currency: spec.currency,
    created_at: now(),
    updated_at: now(),
  };
  backend.storages.unshift(storage);
  create(backend, storage);
  return storage;
}

export const storageHandlers = {
  listStorages: (context) => {
    const { query } = context;
    return storagePage(own(context), query, shown);
  },
  getStorage: (context) => {
    const storage = storageOf(context, context.path.id);
    return new Reply(shown(storage), 200, etag(storage));
  },
  createStorage: (context) => {
    asMember(context);
    const storage = makeStorage(context, context.body);
    return new Reply(shown(storage), 202, etag(storage));
  },
  updateStorage: (context) => {
    asMember(context);
    const { backend, body, request } = context;
    const storage = storageOf(context, context.path.id);
    const wanted = request.headers.get("if-match");
    if (wanted !== "*" && wanted !== etag(storage).etag) throw new Refusal("changed-meanwhile");
    if (storage.state === "deleting") throw new Refusal("storage-deleting");
    if (body.name && isTaken(context, body.name, storage)) throw new Refusal("name-taken");
    if (body.size_gib && body.size_gib !== storage.size_gib) {
      if (storage.state !== "available" && storage.state !== "resizing")
        throw new Refusal("storage-not-available");
      if (body.size_gib < storage.size_gib)
        throw new Refusal("invalid-field", {
          errors: [{ pointer: "/size_gib", detail: "Must be at least the current size." }],
        });
      checkQuota(context, { storages: 0, gib: body.size_gib - storage.size_gib });
      grow(backend, storage, body.size_gib);
    }
    if (body.name) Object.assign(storage, { name: body.name, updated_at: now() });
    return new Reply(shown(storage), body.size_gib ? 202 : 200, etag(storage));
  },
  deleteStorage: (context) => {
    asMember(context);
    const storage = storageOf(context, context.path.id);
    if (storage.attachments.length > 0)
      throw new Refusal("storage-in-use", {
        members: { instance_ids: storage.attachments.map((it) => it.instance_id) },
      });
    if (storage.state !== "deleting") remove(context.backend, storage);
    return new Reply(shown(storage), 202);
  },
  getStorageQuota: (context) => ({ limits: context.backend.storageLimits, used: used(context) }),
  listStorageOperations: (context) => {
    const { backend, caller, query } = context;
    const found = backend.storageOperations.filter(
      (it) =>
        it.tenant_id === caller.session.tenant_id && (!query.storage_id || it.target === query.storage_id),
    );
    return pageOf(
      found.map(({ tenant_id: _, ...it }) => it),
      query,
    );
  },
  getStorageOperation: ({ backend, caller, path }) => {
    const found = backend.storageOperations.find(
      (it) => it.id === path.id && it.tenant_id === caller.session.tenant_id,
    );
    if (!found) throw new Refusal("not-found");
    const { tenant_id: _, ...operation } = found;
    return operation;
  },
} satisfies Partial<Handlers>;
