import type { Operation, OperationKind, SshKey, Storage, TenantId, UserId } from "../src/api/generated/types";
import type { Backend, StudioStorage } from "./backend.ts";
import { makeId } from "./ids.ts";
import type { Kept } from "./kept.ts";
import { daysAgo, hoursAgo } from "./times.ts";

interface Base {
  storages: StudioStorage[];
  storageSpecs: Backend["storageSpecs"];
  instances: Kept[];
}

interface People {
  mira: UserId;
  tomas: UserId;
}

export const sshKey = (n: number, name: string, user: UserId, used: string | null): SshKey => ({
  id: makeId("skey", n),
  name,
  public_key: `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHn6w1vPq0u0k1sJr7m7sV9b2Yc0y1o3xkS3m5c7d9e${n}`,
  fingerprint: `SHA256:${(n * 7919).toString(36)}uV7mT2yXz0aPq8rWb5nLc1dEf4gHi6jKl9oMn0Rs`,
  created_by: user,
  created_by_key: null,
  created_at: daysAgo(40 - n),
  last_used_at: used,
});

const bucket = (name: string): Storage["bucket"] => ({
  name,
  endpoint: "https://s3.atelier.example",
  region: "eu-west",
});

const operation = (
  n: number,
  kind: OperationKind,
  { id, tenant_id }: StudioStorage,
  [from, to]: [string, string | null],
  more: Partial<Operation> = {},
): Backend["storageOperations"][number] => ({
  tenant_id,
  id: makeId("op", n),
  kind,
  target: id,
  state: "succeeded",
  progress: { phase: null, percent: to ? 100 : null, reason: null, message: null },
  problem: null,
  created_at: from,
  updated_at: to ?? from,
  finished_at: to,
  ...more,
});

const shifted = (at: string, seconds: number) => new Date(Date.parse(at) + seconds * 1000).toISOString();

const FULL = "The storage class of us-1 has no room for 300 GiB.";

/** Buckets with keys, a storage that failed, one that waits for its first use, and what was done to them. */
export function storagesSeed(studio: TenantId, base: Base, { mira, tomas }: People) {
  const named = (name: string) => base.storages.find((it) => it.name === name) as StudioStorage;
  const make = (n: number, name: string, spec: string, more: Partial<Storage>): StudioStorage => {
    const of = base.storageSpecs.find((it) => it.name === spec) as Backend["storageSpecs"][number];
    const created_at = daysAgo(n * 7);
    return {
      tenant_id: studio,
      id: makeId("stor", n),
      name,
      kind: of.kind,
      storage_spec: { id: of.id, name: of.name },
      size_gib: 10,
      capacity_gib: null,
      state: "available",
      reason: null,
      message: null,
      datacenter: null,
      bucket: null,
      attachments: [],
      operation_id: makeId("op", 900 + n),
      price_per_gib_month: of.price_per_gib_month,
      currency: of.currency,
      created_at,
      updated_at: created_at,
      ...more,
    };
  };
  for (const [i, it] of base.storages.entries()) it.created_at = daysAgo(12 + i * 23);
  const finished = named("finished-pictures");
  finished.bucket = bucket("stor-finished-pictures");
  const shared = named("shared-models");
  const poster = base.instances.find(({ it }) => it.name === "poster-march");
  if (poster) {
    poster.it.storages = [{ storage_id: shared.id, mount_path: "/models", read_only: true }];
    shared.attachments.push({ instance_id: poster.it.id, mode: "read_only", since: daysAgo(31) });
  }
  const training = base.instances.find(({ it }) => it.name === "lora-heroine");
  if (training) training.it.secrets = [{ name: "HF_TOKEN", updated_at: daysAgo(3) }];
  const outputs = make(7, "job-outputs", "archive", { bucket: bucket("stor-job-outputs") });
  const scans = make(8, "scan-data", "nvme", {
    size_gib: 120,
    datacenter: "us-1",
    state: "pending",
    reason: "volume_accepted",
    message: "The volume is provisioned when an instance mounts it.",
  });
  const renders = make(9, "render-cache", "ssd", {
    size_gib: 300,
    datacenter: "us-1",
    state: "failed",
    reason: "volume_failed",
    message: FULL,
  });
  const storages = [...base.storages, outputs, scans, renders];
  const act = named("act-2-files");
  const [grown, cancelled] = [daysAgo(4), daysAgo(4.01)];
  const resized = operation(920, "resize_storage", act, [grown, shifted(grown, 41)]);
  act.operation_id = resized.id;
  return {
    storages,
    storageLimits: { storages: 20, gib: 2000 },
    storageOperations: [
      resized,
      operation(921, "resize_storage", act, [cancelled, shifted(cancelled, 9)], { state: "cancelled" }),
      ...storages.map((it, i) => {
        const isOpen = it.state !== "available";
        return operation(
          901 + i,
          "create_storage",
          it,
          [it.created_at, isOpen ? null : shifted(it.created_at, 14 + i)],
          isOpen
            ? {
                state: it.state === "failed" ? "failed" : "running",
                finished_at: it.state === "failed" ? shifted(it.created_at, 610) : null,
                progress: { phase: it.state, percent: null, reason: it.reason, message: it.message },
              }
            : {},
        );
      }),
    ],
    bucketKeys: [
      {
        storage_id: finished.id,
        access_key_id: "ATL7QK2MXWD90RBV4TEYH",
        state: "active",
        created_by: mira,
        created_by_key: null,
        created_at: daysAgo(96),
      },
      {
        storage_id: finished.id,
        access_key_id: "ATLC3ZP5NJ81LGSF6UQWA",
        state: "active",
        created_by: tomas,
        created_by_key: null,
        created_at: daysAgo(70),
      },
      {
        storage_id: finished.id,
        access_key_id: "ATLR9HD2KX47VYBM0PTEO",
        state: "active",
        created_by: mira,
        created_by_key: makeId("akey", 1),
        created_at: daysAgo(21),
      },
    ],
    registryCredentials: [
      {
        tenant_id: studio,
        id: makeId("rcred", 1),
        name: "studio images",
        registry: "ghcr.io",
        username: "northlight-robot",
        created_by: mira,
        created_by_key: null,
        created_at: daysAgo(52),
      },
      {
        tenant_id: studio,
        id: makeId("rcred", 2),
        name: "training images",
        registry: "registry.northlight.example:5000",
        username: "pull",
        created_by: tomas,
        created_by_key: null,
        created_at: daysAgo(118),
      },
    ],
    sshKeys: [sshKey(1, "mira@studio-mac", mira, hoursAgo(30)), sshKey(2, "mira@laptop", mira, null)],
  } satisfies Partial<Backend>;
}
