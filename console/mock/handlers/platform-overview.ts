import type { Operation, Repair } from "../../src/api/generated/types";
import { asAdmin } from "../admin.ts";
import type { Handlers } from "../handlers.ts";
import { pageOf } from "../page.ts";
import { hoursAgo, makeId } from "../world.ts";

const repairs = (): Repair[] => [
  {
    id: 41,
    at: hoursAgo(3.4),
    cluster: "de-2",
    kind: "object_missing",
    unit_id: null,
    detail: "the GpuUnit of a unit was missing in de-2 and was created again",
  },
  {
    id: 40,
    at: hoursAgo(50),
    cluster: null,
    kind: "counts",
    unit_id: null,
    detail: "the counts of uk-1 were corrected",
  },
];

const operations = (): Operation[] => [
  {
    id: makeId("op", 9001),
    kind: "add_stock",
    target: "a100-small-4-1",
    state: "failed",
    progress: { phase: null, percent: 50, reason: null, message: null },
    problem: {
      type: "https://atelier.dev/problems/internal",
      title: "Internal error",
      status: 500,
      detail: "2 of 4 units of a100-small-4-1 in de-2 stay inactive: de-2-gpu-07 has no driver.",
    },
    created_at: hoursAgo(5.2),
    updated_at: hoursAgo(5),
    finished_at: hoursAgo(5),
  },
];

export const platformOverviewHandlers = {
  listStockRepairs: (context) => {
    asAdmin(context);
    return pageOf(repairs(), context.query);
  },
  listStockOperations: (context) => {
    asAdmin(context);
    return pageOf(operations(), context.query);
  },
} satisfies Partial<Handlers>;
