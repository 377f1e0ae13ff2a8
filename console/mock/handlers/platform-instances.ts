import type { PlatformStorage, SshSession } from "../../src/api/generated/types";
import { asAdmin, reasonOf, recordAction } from "../admin.ts";
import type { Backend } from "../backend.ts";
import { set } from "../drive.ts";
import { makeId } from "../ids.ts";
import { pageOf } from "../page.ts";
import { platformInstance } from "../platform-data.ts";
import { daysAgo, hoursAgo } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal, Reply } from "../types.ts";
import { storagePage } from "./storages.ts";

/** How long a stop and a deletion take, in milliseconds. */
const END = 1500;

const newestFirst = <Item extends { id: string }>(a: Item, b: Item) => b.id.localeCompare(a.id);

function instanceOf(context: Context, id: string) {
  asAdmin(context);
  const kept = context.backend.instances.find((it) => it.it.id === id);
  if (!kept) throw new Refusal("not-found");
  return kept;
}

function storageOf(context: Context, id: string): PlatformStorage {
  asAdmin(context);
  const found = context.backend.storages.find((it) => it.id === id);
  if (!found) throw new Refusal("not-found");
  return found;
}

const client = ["203.0.113.24:51022", "198.51.100.7:40114", "192.0.2.61:33870"];

/** One connection to each third instance that runs, and an earlier one. */
function sshSessionsOf(backend: Backend): SshSession[] {
  return backend.instances
    .filter((kept, i) => i % 3 === 0 && kept.it.state !== "pending")
    .map((kept, i) => {
      const user = backend.members.get(kept.tenant_id)?.[0];
      const isOpen = kept.it.state === "running" && i % 2 === 0;
      return {
        id: makeId<SshSession["id"]>("sshs", i),
        tenant_id: kept.tenant_id,
        instance_id: kept.it.id,
        user_id: user?.user_id ?? makeId("usr", 1),
        key_id: makeId<SshSession["key_id"]>("sshk", i),
        key_owner: i % 4 === 0 ? ("instance" as const) : ("user" as const),
        fingerprint: `SHA256:${btoa(`atelier key ${i * 7919}`).slice(0, 22)}`,
        client_address: client[i % client.length] ?? "",
        started_at: isOpen ? hoursAgo(0.2 + i * 0.3) : daysAgo(0.6 + i * 0.4),
        ended_at: isOpen ? null : daysAgo(0.5 + i * 0.4),
        end_reason: isOpen ? null : i % 5 === 1 ? "idle" : "disconnected",
        shells: isOpen ? 0 : 1,
        commands: isOpen ? 0 : i % 4,
        sftp: isOpen ? 0 : i % 2,
        forwards: 0,
      };
    })
    .sort((a, b) => b.started_at.localeCompare(a.started_at));
}

export const platformInstanceHandlers = {
  listPlatformInstances: (context) => {
    asAdmin(context);
    const { backend, query } = context;
    const states = query.state === undefined ? [] : String(query.state).split(",");
    const found = pageOf(
      backend.instances
        .filter(
          (kept) =>
            (!query.tenant_id || kept.tenant_id === query.tenant_id) &&
            (states.length === 0 || states.includes(kept.it.state)),
        )
        .map(platformInstance)
        .sort(newestFirst),
      query,
    );
    return { ...found, total: null };
  },
  getPlatformInstance: (context) => platformInstance(instanceOf(context, context.path.id)),
  stopPlatformInstance: (context) => {
    const kept = instanceOf(context, context.path.id);
    const reason = reasonOf(context);
    if (kept.it.state === "stopped" || kept.it.state === "deleting") throw new Refusal("instance-state");
    recordAction(context, kept.it.id, "stop_instance", kept.tenant_id);
    kept.attempt++;
    set(kept, { state: "stopping", reason: "stopped_by_administrator", message: reason, started_at: null });
    setTimeout(() => set(kept, { state: "stopped", node: null }), END);
    return new Reply(platformInstance(kept), 202);
  },
  deletePlatformInstance: (context) => {
    const { backend, path } = context;
    const kept = instanceOf(context, path.id);
    reasonOf(context);
    if (kept.it.state === "deleting") throw new Refusal("instance-state");
    recordAction(context, kept.it.id, "delete_instance", kept.tenant_id);
    kept.attempt++;
    set(kept, { state: "deleting", started_at: null });
    setTimeout(() => {
      backend.instances = backend.instances.filter((it) => it !== kept);
    }, END);
    return new Reply(platformInstance(kept), 202);
  },
  listPlatformInstanceActions: (context) => {
    asAdmin(context);
    return pageOf(
      context.backend.platform.actions.filter((it) => it.target === context.path.id),
      context.query,
    );
  },
  listPlatformSshSessions: (context) => {
    asAdmin(context);
    const { backend, query } = context;
    return pageOf(
      sshSessionsOf(backend).filter(
        (it) =>
          (!query.tenant_id || it.tenant_id === query.tenant_id) &&
          (!query.instance_id || it.instance_id === query.instance_id),
      ),
      query,
    );
  },
  listPlatformStorages: (context) => {
    asAdmin(context);
    const { backend, query } = context;
    const found = backend.storages.filter((it) => !query.tenant_id || it.tenant_id === query.tenant_id);
    return storagePage(found, query, (it) => it);
  },
  getPlatformStorage: (context) => storageOf(context, context.path.id),
  deletePlatformStorage: (context) => {
    const { backend, path } = context;
    const storage = storageOf(context, path.id);
    reasonOf(context);
    if (storage.attachments.length > 0) throw new Refusal("storage-in-use");
    recordAction(context, storage.id, "delete_storage", storage.tenant_id);
    storage.state = "deleting";
    setTimeout(() => {
      backend.storages = backend.storages.filter((it) => it.id !== storage.id);
    }, END);
    return new Reply(storage, 202);
  },
  listPlatformStorageActions: (context) => {
    asAdmin(context);
    return pageOf(
      context.backend.platform.actions.filter((it) => it.target === context.path.id),
      context.query,
    );
  },
} satisfies Partial<Handlers>;
