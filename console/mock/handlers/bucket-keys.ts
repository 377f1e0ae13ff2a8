import { pageOf } from "../page.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal, Reply } from "../types.ts";
import { asMember } from "./as-member.ts";
import { roleIn } from "./sessions.ts";
import { storageOf } from "./storages.ts";

const MOST = 50;

const keysOf = ({ backend }: Context, storage: string) =>
  backend.bucketKeys.filter((it) => it.storage_id === storage);

function keyOf(context: Context, path: { id: string; access_key_id: string }) {
  const storage = storageOf(context, path.id);
  const key = keysOf(context, storage.id).find((it) => it.access_key_id === path.access_key_id);
  if (!key) throw new Refusal("not-found");
  return key;
}

/** Letters of an id that looks as those of object stores do, and is the same at each start. */
const letters = (n: number, length: number) =>
  Array.from({ length }, (_, i) => ((n * 7919 + i * 104_729) % 36).toString(36)).join("");

export const bucketKeyHandlers = {
  listStorageCredentials: (context) =>
    pageOf(
      keysOf(context, storageOf(context, context.path.id).id).map(({ storage_id: _, ...it }) => it),
      context.query,
    ),
  createStorageCredential: (context) => {
    asMember(context);
    const { backend, caller } = context;
    const storage = storageOf(context, context.path.id);
    if (!storage.bucket) throw new Refusal("not-a-bucket");
    if (storage.state === "deleting") throw new Refusal("storage-deleting");
    if (storage.state !== "available" && storage.state !== "resizing")
      throw new Refusal("storage-not-available");
    if (keysOf(context, storage.id).length >= MOST) throw new Refusal("too-many-credentials");
    const access_key_id = `ATL${letters(++backend.next, 17).toUpperCase()}`;
    backend.bucketKeys.push({
      access_key_id,
      storage_id: storage.id,
      state: "active",
      created_by: caller.user.id,
      created_by_key: null,
      created_at: now(),
    });
    const secret_access_key = letters(backend.next + 1, 40);
    const { name: bucket, endpoint, region } = storage.bucket;
    return new Reply({ access_key_id, secret_access_key, bucket, endpoint, region }, 201);
  },
  deleteStorageCredential: (context) => {
    asMember(context);
    const key = keyOf(context, context.path);
    context.backend.bucketKeys = context.backend.bucketKeys.filter((it) => it !== key);
  },
  takeOverStorageCredential: (context) => {
    const { backend, caller } = context;
    if (roleIn(backend, caller.session.tenant_id, caller.user.id) !== "owner") throw new Refusal("forbidden");
    const key = keyOf(context, context.path);
    Object.assign(key, { created_by: caller.user.id, created_by_key: null });
    const { storage_id: _, ...shown } = key;
    return shown;
  },
} satisfies Partial<Handlers>;
