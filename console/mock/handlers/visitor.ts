import type { Offer, Room, StockRow } from "../../src/api/generated/types";
import type { Backend } from "../backend.ts";
import { pageOf } from "../page.ts";
import type { Handlers } from "../types.ts";

/** From this number of available units on there are many. */
const MANY = 5;

function roomOf({ datacenter_state, available }: StockRow): Room {
  if (datacenter_state !== "active" || available <= 0) return "none";
  return available >= MANY ? "many" : "few";
}

const offersOf = ({ specs, stock }: Backend): Offer[] =>
  specs
    .filter((spec) => spec.state === "active")
    .toSorted((a, b) => a.name.localeCompare(b.name))
    .map((spec) => ({
      name: spec.name,
      gpu_model: spec.gpu_model,
      gpu_count: spec.gpu_count,
      video_memory_mib: spec.video_memory_mib,
      cpu_millis: spec.cpu_millis,
      memory_mib: spec.memory_mib,
      disk_gib: spec.disk_gib,
      summary: spec.summary,
      price_per_hour: spec.price_per_hour,
      currency: spec.currency,
      datacenters: stock
        .filter((row) => row.gpu_spec.id === spec.id)
        .map((row) => ({ name: row.datacenter.name, room: roomOf(row) })),
    }));

export const visitorHandlers = {
  listOffers: ({ backend, query }) => pageOf(offersOf(backend), query),
  listStorageOffers: ({ backend, query }) =>
    pageOf(
      backend.storageSpecs
        .filter((it) => it.state === "active")
        .map(({ name, kind, min_size_gib, max_size_gib, price_per_gib_month, currency }) => ({
          name,
          kind,
          min_size_gib,
          max_size_gib,
          price_per_gib_month,
          currency,
        })),
      query,
    ),
} satisfies Partial<Handlers>;
