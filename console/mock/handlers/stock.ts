import type { Operation, StockChange, StockRow, UnitId } from "../../src/api/generated/types";
import { capacityOf } from "../capacity-seed.ts";
import { add, record, remove, removeUnit } from "../drive-stock.ts";
import { asAdmin } from "../match.ts";
import { pageOf } from "../page.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal, Reply } from "../types.ts";
import { settleUnits } from "../units.ts";

type Changing = Context & { body: StockChange };

const is = (thing: { id: string; name: string }, reference: string) =>
  thing.id === reference || thing.name === reference;

function target({ backend, body }: Changing) {
  const spec = backend.specs.find((it) => is(it, body.gpu_spec));
  const place = backend.datacenters.find((it) => is(it, body.datacenter));
  const errors = [
    ...(spec ? [] : [{ pointer: "/gpu_spec", detail: "is not the name or id of a GPU specification" }]),
    ...(place ? [] : [{ pointer: "/datacenter", detail: "is not the name or id of a datacenter" }]),
    ...(body.count >= 1 && body.count <= 1000
      ? []
      : [{ pointer: "/count", detail: "must be between 1 and 1000" }]),
  ];
  if (!spec || !place || errors.length > 0) throw new Refusal("invalid-field", { errors });
  return { spec, place };
}

const rowOf = ({ backend }: Context, { spec, place }: ReturnType<typeof target>): StockRow | undefined =>
  backend.stock.find((it) => it.gpu_spec.id === spec.id && it.datacenter.id === place.id);

function newRow(context: Context, { spec, place }: ReturnType<typeof target>): StockRow {
  const row: StockRow = {
    gpu_spec: spec,
    datacenter: { id: place.id, name: place.name },
    datacenter_state: place.state,
    available: 0,
    interruptible: 0,
    hold_back: 0,
    inactive: 0,
    used: 0,
    total: 0,
    price_per_hour: spec.price_per_hour,
    currency: spec.currency,
  };
  context.backend.stock.push(row);
  return row;
}

function addStock(context: Changing): Reply<Operation> {
  asAdmin(context);
  const found = target(context);
  if (found.spec.state === "retired")
    throw new Refusal("gpu-spec-retired", { detail: "A retired specification takes no new stock." });
  if (found.place.state === "draining")
    throw new Refusal("datacenter-draining", { detail: "A draining datacenter takes no new stock." });
  const row = rowOf(context, found) ?? newRow(context, found);
  const operation = record(context.backend, "add_stock", row, context.body);
  add(context.backend, row, operation, context.body.count);
  return new Reply(operation, 202, { location: `/v1/stock-operations/${operation.id}` });
}

function removeStock(context: Changing): Reply<Operation> {
  asAdmin(context);
  const found = target(context);
  const row = rowOf(context, found);
  const free = row ? row.available + row.inactive : 0;
  const { count } = context.body;
  if (!row || free < count)
    throw new Refusal("stock-in-use", {
      detail: `${free} units of ${found.spec.name} in ${found.place.name} are free.`,
      members: { free },
    });
  const operation = record(context.backend, "remove_stock", row, context.body);
  remove(row, operation, count);
  return new Reply(operation, 202, { location: `/v1/stock-operations/${operation.id}` });
}

function removeStockUnit(context: Context & { path: { id: UnitId } }): Reply<Operation> {
  asAdmin(context);
  const { backend } = context;
  settleUnits(backend);
  const unit = backend.units.find((it) => it.id === context.path.id);
  const row = backend.stock.find(
    (it) => it.gpu_spec.id === unit?.gpu_spec.id && it.datacenter.id === unit.datacenter.id,
  );
  if (!unit || !row) throw new Refusal("not-found");
  if (unit.holder)
    throw new Refusal("unit-in-use", {
      detail: `The instance ${unit.holder.instance_id} holds this unit.`,
      members: { instance_id: unit.holder.instance_id },
    });
  const operation = removeUnit(backend, row, unit);
  return new Reply(operation, 202, { location: `/v1/stock-operations/${operation.id}` });
}

export const stockHandlers = {
  listStock: ({ backend, query }) => {
    const rows = backend.stock
      .filter((it) => it.total > 0 || it.available > 0)
      .filter((it) => it.gpu_spec.name.startsWith(query.spec_name ?? ""))
      .filter((it) => !query.datacenter || is(it.datacenter, query.datacenter))
      .sort(
        (a, b) =>
          a.gpu_spec.name.localeCompare(b.gpu_spec.name) ||
          a.datacenter.name.localeCompare(b.datacenter.name),
      );
    return pageOf(
      rows.map((it) => ({ ...it, total: it.available + it.inactive + it.used })),
      query,
    );
  },
  addStock,
  removeStock,
  listStockOperations: (context) => {
    asAdmin(context);
    return pageOf(context.backend.stockOperations, context.query);
  },
  getStockOperation: (context) => {
    asAdmin(context);
    const found = context.backend.stockOperations.find((it) => it.id === context.path.id);
    if (!found) throw new Refusal("not-found");
    return found;
  },
  getStockCapacity: (context) => {
    asAdmin(context);
    const { backend, query } = context;
    const rows = backend.stock
      .filter((it) => !query.gpu_spec || is(it.gpu_spec, query.gpu_spec))
      .filter((it) => !query.datacenter || is(it.datacenter, query.datacenter));
    const step = query.step ?? "hour";
    const to = query.to ? Date.parse(query.to) : Date.parse(now());
    const from = query.from ? Date.parse(query.from) : to - (step === "hour" ? 1 : 30) * 86_400_000;
    return capacityOf(rows, { step, from, to });
  },
  listStockRepairs: (context) => {
    asAdmin(context);
    settleUnits(context.backend);
    return pageOf(context.backend.repairs, context.query);
  },
  listStockUnits: (context) => {
    asAdmin(context);
    const { backend, query } = context;
    settleUnits(backend);
    const units = backend.units
      .filter((it) => !query.gpu_spec || is(it.gpu_spec, query.gpu_spec))
      .filter((it) => !query.datacenter || is(it.datacenter, query.datacenter))
      .filter((it) => !query.state || it.state === query.state)
      .filter((it) => !query.node || it.node === query.node)
      .filter((it) => !query.instance_id || it.holder?.instance_id === query.instance_id)
      .filter((it) => !query.tenant_id || it.holder?.tenant_id === query.tenant_id);
    return pageOf(
      units.map(({ history: _, ...unit }) => unit),
      query,
    );
  },
  removeStockUnit,
  getStockUnit: (context) => {
    asAdmin(context);
    settleUnits(context.backend);
    const found = context.backend.units.find((it) => it.id === context.path.id);
    if (!found) throw new Refusal("not-found");
    return found;
  },
} satisfies Partial<Handlers>;
