import type {
  GpuSpec,
  Instance,
  InstanceChange,
  InstanceStorageRequest,
  Operation,
  ShareLink,
  SshKey,
} from "../../src/api/generated/types";
import { record } from "../events.ts";
import { makeId, nextId } from "../ids.ts";
import type { Kept } from "../kept.ts";
import { linesOf } from "../log.ts";
import { metricsOf } from "../metrics.ts";
import { pageOf } from "../page.ts";
import { sshKey } from "../storages-seed.ts";
import { daysAgo, hoursAgo, now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal, Reply } from "../types.ts";
import { asMember } from "./as-member.ts";
import { by, keptOf } from "./instances.ts";
import { newSshKey } from "./ssh-keys.ts";

const etag = (it: Instance) => ({ etag: `"${Date.parse(it.updated_at)}"` });

/** What hangs on an instance, made when it is asked for first. */
const links = new WeakMap<Kept, ShareLink[]>();
const keys = new WeakMap<Kept, SshKey[]>();

function of<Owner extends object, Thing>(kept: WeakMap<Owner, Thing[]>, owner: Owner, first: () => Thing[]) {
  const known = kept.get(owner);
  if (known) return known;
  const made = first();
  kept.set(owner, made);
  return made;
}

const linksOf = ({ caller }: Context, kept: Kept) =>
  of(links, kept, () =>
    kept.it.name === "character-sheets"
      ? [
          {
            id: makeId<ShareLink["id"]>("share", 1),
            name: "Review with Halden Games",
            port: null,
            url: null,
            recipient: { email: "art@halden.example" },
            created_by: caller.user.id,
            created_by_key: null,
            created_at: daysAgo(1.2),
            expires_at: daysAgo(-1.9),
            last_used_at: hoursAgo(3),
          },
          {
            id: makeId<ShareLink["id"]>("share", 2),
            name: "Jonas, prompt notes",
            port: null,
            url: null,
            recipient: null,
            created_by: caller.user.id,
            created_by_key: null,
            created_at: hoursAgo(5),
            expires_at: hoursAgo(-20),
            last_used_at: null,
          },
        ]
      : [],
  );

const keysOf = ({ caller }: Context, kept: Kept) =>
  of(keys, kept, () =>
    kept.it.name === "character-sheets" ? [sshKey(3, "backup script", caller.user.id, hoursAgo(9))] : [],
  );

const specOf = ({ backend }: Context, name: string): GpuSpec => {
  const spec = backend.specs.find((it) => it.id === name || it.name === name);
  if (!spec) throw new Refusal("invalid-field", { errors: [{ pointer: "/gpu_spec", detail: "No such." }] });
  return spec;
};

/** What is no longer mounted is detached at once; what is new is attached by the next start. */
function mount(backend: Context["backend"], it: Instance, wanted: InstanceStorageRequest[]) {
  it.storages = wanted.map(({ storage_id, mount_path, read_only }) => ({
    storage_id,
    mount_path: mount_path ?? "/workspace",
    read_only: read_only ?? false,
  }));
  it.storage_id = it.storages[0]?.storage_id ?? null;
  for (const storage of backend.storages)
    if (!it.storages.some((one) => one.storage_id === storage.id))
      storage.attachments = storage.attachments.filter((one) => one.instance_id !== it.id);
}

function update(context: Context & { path: { id: Instance["id"] }; body: InstanceChange }): Reply<Instance> {
  asMember(context);
  const { body, backend } = context;
  const kept = keptOf(context, context.path.id);
  const { it } = kept;
  if (it.managed_by) throw new Refusal("instance-managed");
  if ((body.gpu_spec || body.version || body.storages) && it.state !== "stopped")
    throw new Refusal("instance-state", { members: { state: it.state } });
  if (body.name !== undefined && !body.name?.trim())
    throw new Refusal("invalid-field", {
      errors: [{ pointer: "/name", detail: "Must have 1 to 63 characters." }],
    });
  const previous_name = it.name;
  if (body.storages) mount(backend, it, body.storages);
  if (body.name) it.name = body.name.trim();
  if (body.on_node_loss) it.on_node_loss = body.on_node_loss;
  if (body.version) it.version = body.version;
  if (body.gpu_spec) {
    const spec = specOf(context, body.gpu_spec);
    it.gpu_spec = { id: spec.id, name: spec.name };
    it.price_per_hour = spec.price_per_hour;
    it.alternatives = null;
  }
  if (body.idle_stop !== undefined)
    it.idle_stop = body.idle_stop && {
      after_seconds: body.idle_stop.after_seconds,
      gpu_below_percent: body.idle_stop.gpu_below_percent ?? 5,
      cpu_below_percent: body.idle_stop.cpu_below_percent ?? 10,
      idle_since: null,
      stop_at: null,
    };
  it.updated_at = now();
  record(
    backend,
    kept.tenant_id,
    it.id,
    {
      type: "instance.updated",
      data: {
        name: it.name,
        previous_name,
        changed: ["name"],
        gpu_spec: it.gpu_spec.name,
        version: it.version ?? "",
        price_per_hour: it.price_per_hour,
        currency: it.currency,
      },
    },
    by(context),
  );
  return new Reply(it, 200, etag(it));
}

const phases: Partial<Record<Instance["state"], [string, number]>> = {
  pending: ["claiming", 10],
  starting: ["starting", 61],
  stopping: ["stopping", 50],
};

export const instanceDetailHandlers = {
  updateInstance: update,
  getInstanceMetrics: (context) => {
    const kept = keptOf(context, context.path.id);
    return metricsOf(kept, specOf(context, kept.it.gpu_spec.name), context.query);
  },
  getInstanceOperation: (context): Operation => {
    const { id } = context.path;
    const kept = context.backend.instances.find(
      ({ it, operations }) => it.operation_id === id || operations?.includes(id),
    );
    if (!kept) throw new Refusal("not-found");
    const { it } = kept;
    const isNewest = it.operation_id === id;
    const [phase, percent] = (isNewest && phases[it.state]) || [null, null];
    const isOpen = phase !== null;
    return {
      id,
      kind: "start_instance",
      target: it.id,
      state: isOpen ? "running" : isNewest && it.reason ? "failed" : "succeeded",
      progress: { phase, percent, reason: it.reason, message: it.message },
      problem: null,
      created_at: it.updated_at,
      updated_at: it.updated_at,
      finished_at: isOpen ? null : it.updated_at,
    };
  },
  listInstanceLogs: (context) => {
    const kept = keptOf(context, context.path.id);
    const lines = linesOf(kept);
    const runs = kept.runs.filter((run) => run.kind === "running");
    const items = runs.map((run, i) => ({
      attempt: kept.attempt - i,
      first_line_at: run.started_at,
      last_line_at: run.ended_at ?? now(),
      lines: i === 0 ? lines.length : 60,
      text_bytes: 40_000,
      stored_bytes: 9_000,
      has_gaps: i === 1,
    }));
    return pageOf(items, context.query);
  },
  postponeInstanceIdleStop: (context) => {
    asMember(context);
    const kept = keptOf(context, context.path.id);
    if (!kept.it.idle_stop) throw new Refusal("idle-stop-not-set");
    kept.it.idle_stop = { ...kept.it.idle_stop, idle_since: null, stop_at: null };
    kept.it.updated_at = now();
    return new Reply(kept.it, 200);
  },
  listShareLinks: (context) => pageOf(linksOf(context, keptOf(context, context.path.id)), context.query),
  createShareLink: (context) => {
    asMember(context);
    const kept = keptOf(context, context.path.id);
    const { name, port, recipient, expires_at } = context.body;
    if (!name.trim())
      throw new Refusal("invalid-field", { errors: [{ pointer: "/name", detail: "Must not be empty." }] });
    const link: ShareLink = {
      id: nextId(context.backend, "share"),
      name: name.trim(),
      port: port ?? null,
      url: null,
      recipient: recipient ?? null,
      created_by: context.caller.user.id,
      created_by_key: null,
      created_at: now(),
      expires_at,
      last_used_at: null,
    };
    linksOf(context, kept).unshift(link);
    const url = `${kept.it.url}/.atelier/share?link=7Qm4Rk2cXw9LtB0pYz5HdN8v`;
    return new Reply({ ...link, url }, 201);
  },
  deleteShareLink: (context) => {
    asMember(context);
    const kept = keptOf(context, context.path.id);
    links.set(
      kept,
      linksOf(context, kept).filter((it) => it.id !== context.path.link_id),
    );
  },
  getSsh: () => ({
    host: "ssh.atelier.example",
    port: 22,
    host_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0b3xkS3m5c7d9e1n6w1vPq0u0k1sJr7m7sV9b2Yc0y",
    fingerprint: "SHA256:Zt4uV7mT2yXz0aPq8rWb5nLc1dEf4gHi6jKl9oMn0Rs",
    known_hosts:
      "ssh.atelier.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0b3xkS3m5c7d9e1n6w1vPq0u0k1sJr7m7sV9b2Yc0y",
  }),
  listInstanceSshKeys: (context) => pageOf(keysOf(context, keptOf(context, context.path.id)), context.query),
  createInstanceSshKey: (context) => {
    asMember(context);
    const kept = keptOf(context, context.path.id);
    const key = newSshKey(context);
    keysOf(context, kept).push(key);
    return new Reply(key, 201);
  },
  deleteInstanceSshKey: (context) => {
    asMember(context);
    const kept = keptOf(context, context.path.id);
    keys.set(
      kept,
      keysOf(context, kept).filter((it) => it.id !== context.path.key_id),
    );
  },
} satisfies Partial<Handlers>;
