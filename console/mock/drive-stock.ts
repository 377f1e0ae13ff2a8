import type { Operation, StockChange, StockRow, StockUnitDetail, UnitId } from "../src/api/generated/types";
import type { Backend } from "./backend.ts";
import { nextId } from "./ids.ts";
import { now } from "./times.ts";

/** How long the cluster takes for all units of a change, in milliseconds. */
const CHANGE = 2400;
/** Most steps in which a change goes on. */
const STEPS = 8;

type Kind = "add_stock" | "remove_stock";

export function record(
  backend: Backend,
  kind: Kind,
  row: StockRow,
  { count }: Pick<StockChange, "count">,
): Operation {
  const operation: Operation = {
    id: nextId(backend, "op"),
    kind,
    target: row.gpu_spec.id,
    state: "running",
    progress: {
      phase: null,
      percent: 0,
      reason: null,
      message: null,
      requested: count,
      made: 0,
      held: 0,
      removed: 0,
      failed_count: 0,
      failed: [],
      gpu_spec: { id: row.gpu_spec.id, name: row.gpu_spec.name },
      datacenter: row.datacenter,
    },
    problem: null,
    created_at: now(),
    updated_at: now(),
    finished_at: null,
  };
  backend.stockOperations.unshift(operation);
  return operation;
}

/** Calls `step` with how many are done, some at a time, then `end`. */
function inSteps(count: number, step: (done: number) => void, end: () => void) {
  const steps = Math.min(count, STEPS);
  for (let i = 1; i <= steps; i++)
    setTimeout(
      () => {
        step(Math.round((count * i) / steps));
        if (i === steps) end();
      },
      (CHANGE * i) / steps,
    );
}

function tell(operation: Operation, change: Record<string, unknown>) {
  Object.assign(operation.progress, change);
  operation.updated_at = now();
}

function finish(operation: Operation, state: Operation["state"]) {
  Object.assign(operation, { state, finished_at: now(), updated_at: now() });
}

/** How many more units have room in a datacenter. */
const roomFor = (row: StockRow) => (row.gpu_spec.name.startsWith("a100") ? 2 : 400);

/** Units become available one after the other; those for which no node has room stay inactive. */
export function add(backend: Backend, row: StockRow, operation: Operation, count: number) {
  const room = Math.min(count, roomFor(row));
  const before = row.available;
  let taken = 0;
  tell(operation, { made: count });
  inSteps(
    room,
    (held) => {
      row.available += held - taken;
      taken = held;
      row.total = row.available + row.inactive + row.used;
      tell(operation, { held, percent: Math.floor((100 * held) / count) });
    },
    () => {
      const missing = count - room;
      if (missing === 0) return finish(operation, "succeeded");
      row.inactive += missing;
      row.total += missing;
      const message = `0/${before + 4} nodes are available: no room for ${row.gpu_spec.name}.`;
      tell(operation, {
        failed_count: missing,
        failed: Array.from({ length: missing }, () => ({
          unit_id: nextId<UnitId>(backend, "unit"),
          reason: "unschedulable",
          message,
        })),
      });
      operation.problem = {
        type: "https://atelier.dev/problems/stock-not-held",
        title: "Not all units hold their resources",
        status: 409,
        detail: `${missing} of ${count} units do not hold their resources in the cluster.`,
      };
      finish(operation, "failed");
    },
  );
}

/** Takes the units out at once, inactive ones first; the cluster follows. */
export function remove(row: StockRow, operation: Operation, count: number) {
  const inactive = Math.min(row.inactive, count);
  row.inactive -= inactive;
  row.available -= count - inactive;
  row.total -= count;
  inSteps(
    count,
    (removed) => tell(operation, { removed, percent: Math.floor((100 * removed) / count) }),
    () => finish(operation, "succeeded"),
  );
}

/** The operations that remove a unit by its name. */
const removals = new WeakMap<StockUnitDetail, Operation>();

/** Takes one unit out; the cluster follows. Again while it goes, it is the same operation. */
export function removeUnit(backend: Backend, row: StockRow, unit: StockUnitDetail): Operation {
  const open = removals.get(unit);
  if (open) return open;
  const operation = record(backend, "remove_stock", row, { count: 1 });
  removals.set(unit, operation);
  if (unit.state === "inactive") row.inactive -= 1;
  else row.available -= 1;
  row.total -= 1;
  Object.assign(unit, { state: "removing", reason: null, message: null, since: now() });
  inSteps(
    1,
    (removed) => tell(operation, { removed, percent: 100 }),
    () => {
      backend.units = backend.units.filter((it) => it !== unit);
      finish(operation, "succeeded");
    },
  );
  return operation;
}
