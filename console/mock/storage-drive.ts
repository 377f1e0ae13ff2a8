import type { Operation, Storage } from "../src/api/generated/types";
import type { Backend, StudioStorage } from "./backend.ts";
import { nextId } from "./ids.ts";
import { now } from "./times.ts";

/** How long each step of a creation, growth or deletion takes, in milliseconds. */
const STEP = 1100;

type Kind = "create_storage" | "resize_storage" | "delete_storage";

function set(storage: StudioStorage, change: Partial<Storage>) {
  Object.assign(storage, change, { updated_at: now() });
}

const operationOf = (backend: Backend, { operation_id }: StudioStorage) =>
  backend.storageOperations.find((it) => it.id === operation_id);

/** Opens the storage's operation; an earlier one that is still open is cancelled, as the service does. */
function open(backend: Backend, storage: StudioStorage, kind: Kind) {
  const at = now();
  for (const it of backend.storageOperations)
    if (it.target === storage.id && !it.finished_at)
      Object.assign(it, { state: "cancelled", updated_at: at, finished_at: at });
  const operation: Operation = {
    id: nextId(backend, "op"),
    kind,
    target: storage.id,
    state: "running",
    progress: { phase: storage.state, percent: null, reason: null, message: null },
    problem: null,
    created_at: at,
    updated_at: at,
    finished_at: null,
  };
  backend.storageOperations.unshift({ ...operation, tenant_id: storage.tenant_id });
  set(storage, { operation_id: operation.id });
}

/** What the storage waits for stands at its operation, too. */
function progress(
  backend: Backend,
  storage: StudioStorage,
  reason: Storage["reason"],
  message: string,
  percent: number | null,
) {
  set(storage, { reason, message });
  const operation = operationOf(backend, storage);
  if (operation)
    Object.assign(operation, {
      progress: { phase: storage.state, percent, reason, message },
      updated_at: now(),
    });
}

function close(backend: Backend, storage: StudioStorage) {
  const operation = operationOf(backend, storage);
  if (!operation) return;
  const at = now();
  operation.progress = { phase: null, percent: 100, reason: null, message: null };
  Object.assign(operation, { state: "succeeded", updated_at: at, finished_at: at });
}

/** Does it later, unless something else was asked of the storage meanwhile. */
function later(storage: StudioStorage, steps: number, act: () => void) {
  const { operation_id } = storage;
  setTimeout(() => {
    if (storage.operation_id === operation_id) act();
  }, steps * STEP);
}

const bucketOf = (storage: StudioStorage): Storage["bucket"] =>
  storage.kind === "bucket"
    ? { name: storage.id.replace("_", "-"), endpoint: "https://s3.atelier.example", region: "eu-west" }
    : null;

export function create(backend: Backend, storage: StudioStorage) {
  open(backend, storage, "create_storage");
  if (storage.kind === "volume")
    progress(backend, storage, "volume_requested", "The volume was requested from the cluster.", 10);
  later(storage, 1, () => {
    if (storage.kind === "volume")
      progress(backend, storage, "volume_pending", "The cluster is creating the volume.", 60);
    later(storage, 1, () => {
      set(storage, {
        state: "available",
        reason: null,
        message: null,
        capacity_gib: storage.kind === "volume" ? storage.size_gib : null,
        bucket: bucketOf(storage),
      });
      close(backend, storage);
    });
  });
}

export function grow(backend: Backend, storage: StudioStorage, size_gib: number) {
  set(storage, { size_gib, state: "resizing" });
  open(backend, storage, "resize_storage");
  progress(backend, storage, "volume_growing", "The cluster is enlarging the volume.", 30);
  later(storage, 2, () => {
    set(storage, {
      state: "available",
      reason: null,
      message: null,
      capacity_gib: storage.kind === "volume" ? size_gib : null,
    });
    close(backend, storage);
  });
}

export function remove(backend: Backend, storage: StudioStorage) {
  set(storage, { state: "deleting" });
  open(backend, storage, "delete_storage");
  if (storage.kind === "volume")
    progress(backend, storage, "volume_deleting", "The cluster is deleting the volume.", null);
  else progress(backend, storage, "bucket_emptying", "The objects of the bucket are being deleted.", 35);
  later(storage, 2, () => {
    close(backend, storage);
    backend.storages = backend.storages.filter((other) => other !== storage);
    backend.bucketKeys = backend.bucketKeys.filter((key) => key.storage_id !== storage.id);
  });
}
