import type { NewStorage, Storage } from "../../src/api/generated/types";
import type { Handlers } from "../handlers.ts";
import { pageOf } from "../page.ts";
import { type Context, Refusal, Reply } from "../types.ts";
import { nextId, now } from "../world.ts";

const most = { storages: 20, gib: 2000 };

const own = ({ world, caller }: Context) =>
  world.storages.filter((it) => it.tenant_id === caller.session.tenant_id);

const used = (context: Context) => ({
  storages: own(context).length,
  gib: own(context).reduce((sum, it) => sum + it.size_gib, 0),
});

const shown = ({ tenant_id: _, ...it }: Context["world"]["storages"][number]): Storage => it;

/** `at` is the pointer to what is ordered in the body. */
export function makeStorage(context: Context, order: NewStorage, at = "") {
  const { world, caller } = context;
  const wrong = (name: string, detail: string) =>
    new Refusal("invalid-field", { errors: [{ pointer: `${at}${name}`, detail }] });
  const tenant_id = caller.session.tenant_id;
  const spec = world.storageSpecs.find(
    (it) => it.id === order.storage_spec || it.name === order.storage_spec,
  );
  if (!spec || !tenant_id) throw wrong("/storage_spec", "There is no such specification.");
  const size_gib = order.size_gib ?? spec.min_size_gib;
  if (size_gib < spec.min_size_gib || size_gib > spec.max_size_gib)
    throw wrong("/size_gib", `Must be from ${spec.min_size_gib} to ${spec.max_size_gib}.`);
  if (own(context).some((it) => it.name.toLowerCase() === order.name.toLowerCase()))
    throw at
      ? new Refusal("invalid-field", { errors: [{ pointer: at, detail: "Another storage has this name." }] })
      : new Refusal("name-taken");
  const now_used = used(context);
  if (now_used.gib + size_gib > most.gib)
    throw new Refusal("quota-exceeded", {
      members: { quota: "storage_gib", limit: most.gib, used: now_used.gib, requested: size_gib },
    });
  const storage = {
    tenant_id,
    id: nextId<Storage["id"]>(world, "stor"),
    name: order.name,
    kind: spec.kind,
    storage_spec: { id: spec.id, name: spec.name },
    size_gib,
    capacity_gib: size_gib,
    state: "available" as const,
    reason: null,
    message: null,
    datacenter: spec.kind === "volume" ? (order.datacenter ?? world.datacenters[0]?.name ?? null) : null,
    bucket: null,
    attachments: [],
    operation_id: nextId<Storage["operation_id"]>(world, "op"),
    price_per_gib_month: spec.price_per_gib_month,
    currency: spec.currency,
    created_at: now(),
    updated_at: now(),
  };
  world.storages.push(storage);
  return storage;
}

export const storageHandlers = {
  getStorageQuota: (context) => ({ limits: most, used: used(context) }),
  listStorages: (context) =>
    pageOf(
      own(context)
        .filter((it) => !context.query.kind || it.kind === context.query.kind)
        .map(shown),
      context.query,
    ),
  getStorage: (context) => {
    const storage = own(context).find((it) => it.id === context.path.id);
    if (!storage) throw new Refusal("not-found");
    return shown(storage);
  },
  createStorage: (context) => new Reply(shown(makeStorage(context, context.body)), 202),
} satisfies Partial<Handlers>;
