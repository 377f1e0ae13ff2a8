import type { Operation, Repair, StockRow, UnitId } from "../src/api/generated/types";
import { makeId } from "./ids.ts";
import { hoursAgo } from "./times.ts";

interface Draft {
  hours: number;
  kind: "add_stock" | "remove_stock";
  row: StockRow;
  requested: number;
  made?: number;
  done: number;
  failed?: string[];
}

function operation(
  n: number,
  { hours, kind, row, requested, done, made = done, failed = [] }: Draft,
): Operation {
  const isAddition = kind === "add_stock";
  const isShort = done < requested;
  return {
    id: makeId<Operation["id"]>("op", 7000 + n),
    kind,
    target: row.gpu_spec.id,
    state: isShort ? "failed" : "succeeded",
    progress: {
      phase: null,
      percent: Math.floor((100 * done) / requested),
      reason: null,
      message: null,
      requested,
      made: isAddition ? made : 0,
      held: isAddition ? done : 0,
      removed: isAddition ? 0 : done,
      failed_count: failed.length,
      failed: failed.map((message, i) => ({
        unit_id: makeId<UnitId>("unit", 880 + n * 10 + i),
        reason: "unschedulable",
        message,
      })),
      gpu_spec: { id: row.gpu_spec.id, name: row.gpu_spec.name },
      datacenter: row.datacenter,
    },
    problem: isShort
      ? {
          type: "https://atelier.dev/problems/stock-not-held",
          title: "Not all units hold their resources",
          status: 409,
          detail: `${requested - done} of ${requested} units do not hold their resources in the cluster.`,
        }
      : null,
    created_at: hoursAgo(hours),
    updated_at: hoursAgo(hours - 0.02),
    finished_at: hoursAgo(hours - 0.02),
  };
}

export function operationsOf(stock: readonly StockRow[]): Operation[] {
  const of = (spec: string, place: string) =>
    stock.find((it) => it.gpu_spec.name === spec && it.datacenter.name === place) as StockRow;
  const noRoom = "0/6 nodes are available: 6 Insufficient nvidia.com/gpu.";
  return [
    {
      hours: 3,
      kind: "add_stock" as const,
      row: of("a100-small-4-1", "de-2"),
      requested: 4,
      made: 4,
      done: 2,
      failed: [noRoom, noRoom],
    },
    { hours: 5.4, kind: "add_stock" as const, row: of("l40s-small-8-1", "de-2"), requested: 16, done: 16 },
    { hours: 21, kind: "remove_stock" as const, row: of("4090-small-4-1", "uk-1"), requested: 4, done: 4 },
    { hours: 50, kind: "add_stock" as const, row: of("4090-small-4-1", "de-2"), requested: 24, done: 24 },
    { hours: 74, kind: "remove_stock" as const, row: of("3080-small-4-1", "sg-1"), requested: 12, done: 12 },
    { hours: 170, kind: "add_stock" as const, row: of("h100-small-16-1", "us-1"), requested: 8, done: 8 },
    { hours: 380, kind: "add_stock" as const, row: of("3080-small-8-1", "us-1"), requested: 16, done: 16 },
  ].map((draft, i) => operation(i, draft));
}

export const repairs: Repair[] = [
  {
    id: 41,
    at: hoursAgo(1.6),
    cluster: "de-2",
    kind: "object_missing",
    unit_id: null,
    detail: "The object of the unit was deleted in the cluster. It was created again.",
  },
  {
    id: 40,
    at: hoursAgo(29),
    cluster: "uk-1",
    kind: "status_missed",
    unit_id: null,
    detail: "The watch did not report that the unit lost its node. The state was recorded.",
  },
  {
    id: 39,
    at: hoursAgo(29.1),
    cluster: null,
    kind: "counts",
    unit_id: null,
    detail:
      "The counts of 4090-small-4-1 in uk-1 were corrected by 1 available, -1 inactive, 0 used, 0 changing.",
  },
  {
    id: 38,
    at: hoursAgo(122),
    cluster: "us-1",
    kind: "object_orphaned",
    unit_id: null,
    detail: "The object unit-01939e2b7c3d had no unit. It was deleted.",
  },
];
