import type { StockRow, StockUnitDetail, TenantId, UnitReason, UnitState } from "../src/api/generated/types";
import type { Backend } from "./backend.ts";
import { makeId, makeSortedId, nextId } from "./ids.ts";
import { hoursAgo, now } from "./times.ts";

const states = ["available", "inactive", "used"] as const;

const reasons: Record<string, [UnitReason, string]> = {
  "a100-small-4-1": ["unschedulable", "0/6 nodes are available: 6 Insufficient nvidia.com/gpu."],
  "4090-small-4-1": ["node_lost", "The node uk1-gpu-12 has not answered for 8 minutes."],
  "3080-small-4-1": ["node_cordoned", "The node takes no new pods. The unit looks for another place."],
};

const isOf = (unit: StockUnitDetail, row: StockRow) =>
  unit.gpu_spec.id === row.gpu_spec.id && unit.datacenter.id === row.datacenter.id;

const inHand = (state: UnitState) => state === "making" || state === "removing";

/** Hexadecimal digits that are the same for the same unit. */
const digits = (n: number, length: number) =>
  (n * 2654435761 + 0x9e3779b97f4a).toString(16).padStart(length, "7").slice(-length);

function makeUnit(backend: Backend, row: StockRow, n: number): StockUnitDetail {
  const created_at = hoursAgo(24 * (200 - (n % 180)));
  const id = makeSortedId<StockUnitDetail["id"]>("unit", created_at, ++backend.next);
  const host = `${row.datacenter.name.replace("-", "")}-gpu-${String(1 + (n % 24)).padStart(2, "0")}`;
  return {
    id,
    name: id.replace("_", "-"),
    gpu_spec: { id: row.gpu_spec.id, name: row.gpu_spec.name },
    datacenter: row.datacenter,
    state: "available",
    reason: null,
    message: null,
    node: host,
    gpu_uuids: Array.from(
      { length: row.gpu_spec.gpu_count },
      (_, i) => `GPU-${digits(n + i, 8)}-${digits(n + 7, 4)}-4c1e-9b0d-${digits(n + i + 31, 12)}`,
    ),
    since: hoursAgo(1 + (n % 70)),
    created_at,
    holder: null,
    history: [1, 2, 3].slice(0, n % 4).map((i) => ({
      instance_id: makeId("inst", 5000 + n * 3 + i),
      tenant_id: tenantAt(backend, n + i),
      claimed_at: hoursAgo(20 * i + 9 + (n % 70)),
      released_at: hoursAgo(20 * i + 2 + (n % 70)),
    })),
  };
}

const tenantAt = (backend: Backend, n: number) =>
  (backend.tenants[n % backend.tenants.length]?.id ?? "") as TenantId;

function put(backend: Backend, unit: StockUnitDetail, state: (typeof states)[number]) {
  const [reason, message] = reasons[unit.gpu_spec.name] ?? [
    "scheduling",
    "The scheduler has not yet found a place.",
  ];
  if (unit.holder)
    unit.history.unshift({
      instance_id: unit.holder.instance_id,
      tenant_id: unit.holder.tenant_id,
      claimed_at: unit.holder.since,
      released_at: now(),
    });
  Object.assign(unit, {
    state,
    reason: state === "inactive" ? reason : null,
    message: state === "inactive" ? message : null,
    node: state === "inactive" && reason === "unschedulable" ? null : unit.node,
    holder:
      state === "used"
        ? {
            instance_id: nextId(backend, "inst"),
            tenant_id: tenantAt(backend, backend.next),
            since: unit.since,
          }
        : null,
  });
}

function settle(backend: Backend, row: StockRow) {
  const own = backend.units.filter((unit) => isOf(unit, row) && !inHand(unit.state));
  const missing = row.available + row.inactive + row.used - own.length;
  for (let i = 0; i < missing; i++) {
    const unit = makeUnit(backend, row, backend.units.length);
    backend.units.push(unit);
    own.push(unit);
  }
  const surplus = states.flatMap((state) => own.filter((unit) => unit.state === state).slice(row[state]));
  for (const state of states) {
    const has = own.filter((unit) => unit.state === state && !surplus.includes(unit)).length;
    for (const unit of surplus.splice(0, row[state] - has)) put(backend, unit, state);
  }
  backend.units = backend.units.filter((unit) => !surplus.includes(unit));
}

/** Instances of the studio hold units of theirs. */
function giveToInstances(backend: Backend, row: StockRow) {
  const used = backend.units.filter((unit) => isOf(unit, row) && unit.state === "used");
  const holders = backend.instances.filter(
    ({ it }) =>
      it.gpu_spec.id === row.gpu_spec.id &&
      it.datacenter === row.datacenter.name &&
      (it.state !== "stopped" || it.hold),
  );
  for (const { it, tenant_id } of holders) {
    if (used.some((unit) => unit.holder?.instance_id === it.id)) continue;
    const unit = used.find(
      ({ holder }) => !backend.instances.some((kept) => kept.it.id === holder?.instance_id),
    );
    if (unit) unit.holder = { instance_id: it.id, tenant_id, since: it.started_at ?? it.created_at };
  }
}

/** Brings the units to what the stock says: claims and releases change its numbers only. */
export function settleUnits(backend: Backend) {
  for (const row of backend.stock) {
    settle(backend, row);
    giveToInstances(backend, row);
  }
  backend.units.sort((a, b) => a.id.localeCompare(b.id));
  for (const repair of backend.repairs)
    if (repair.kind !== "counts" && repair.kind !== "object_orphaned")
      repair.unit_id ??= backend.units.find((unit) => unit.datacenter.name === repair.cluster)?.id ?? null;
}
