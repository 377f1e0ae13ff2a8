import type { Budget, Datacenter, GpuSpec, Quota, StockRow } from "@/api/generated/types";
import { isOver, parseAmount } from "@/lib/money";

export { gpuTitle } from "@/domain/instances/gpu";

export type Level = "many" | "few" | "none";

/** How much room a datacenter has for a specification. */
export interface Room {
  datacenter: string;
  level: Level;
  available: number;
}

/** Why a specification cannot be started, whatever is free. */
export type Why =
  | { code: "quota"; of: "gpus" | "model"; limit: number; used: number }
  | { code: "cost"; limit: string; used: string; currency: string }
  | { code: "budget"; until: string | null }
  | { code: "budget-rate"; limit: string; used: string; currency: string }
  | { code: "elsewhere"; datacenter: string };

export interface Offer {
  spec: GpuSpec;
  rooms: Room[];
  /** `full`: one can wait for a place. */
  state: "now" | "full" | "impossible";
  why: Why | null;
}

export interface Limits {
  quota: Quota;
  budget: Budget | null;
  /** The datacenter in which it must run: that of a storage. */
  place: string | null;
}

/** Free units from which on the level is "many", as in `GET /v1/offers`. */
const MANY = 5;

export const levelOf = (available: number): Level =>
  available >= MANY ? "many" : available > 0 ? "few" : "none";

function limitOf(spec: GpuSpec, { quota, budget }: Limits): Why | null {
  const { limits, used } = quota;
  const all = Object.values(used.gpus).reduce((sum, count) => sum + count, 0);
  if (limits.gpus != null && all + spec.gpu_count > limits.gpus)
    return { code: "quota", of: "gpus", limit: limits.gpus, used: all };
  const ofModel = limits.gpus_by_model?.[spec.gpu_model];
  const usedOfModel = used.gpus[spec.gpu_model] ?? 0;
  if (ofModel !== undefined && usedOfModel + spec.gpu_count > ofModel)
    return { code: "quota", of: "model", limit: ofModel, used: usedOfModel };
  const { currency, price_per_hour } = spec;
  const most = limits.cost_per_hour?.[currency];
  const costs = used.cost_per_hour[currency] ?? "0";
  if (most !== undefined && isOver(most, costs, price_per_hour))
    return { code: "cost", limit: most, used: costs, currency };
  if (!budget || budget.terms.currency !== currency) return null;
  if (budget.starts_refused) return { code: "budget", until: budget.refused_until };
  if (budget.max_rate_per_hour && isOver(budget.max_rate_per_hour, budget.rate_per_hour, price_per_hour))
    return { code: "budget-rate", limit: budget.max_rate_per_hour, used: budget.rate_per_hour, currency };
  return null;
}

const order = { now: 0, full: 1, impossible: 2 };

/** What is for sale: what can start now first, then by price. Specifications without any stock are left out. */
export function offersOf(
  specs: readonly GpuSpec[],
  stock: readonly StockRow[],
  datacenters: readonly Datacenter[],
  limits: Limits,
): Offer[] {
  const names = datacenters.map((it) => it.name);
  return specs
    .filter((spec) => stock.some((row) => row.gpu_spec.id === spec.id))
    .map((spec): Offer => {
      const rows = stock.filter((row) => row.gpu_spec.id === spec.id);
      const rooms = rows
        .map((row) => {
          const available = row.datacenter_state === "active" ? row.available : 0;
          return { datacenter: row.datacenter.name, level: levelOf(available), available };
        })
        .sort((a, b) => names.indexOf(a.datacenter) - names.indexOf(b.datacenter));
      const { place } = limits;
      const fitting = place ? rooms.filter((room) => room.datacenter === place) : rooms;
      const why =
        limitOf(spec, limits) ??
        (place && fitting.length === 0 ? ({ code: "elsewhere", datacenter: place } as const) : null);
      const state = why ? "impossible" : fitting.some((room) => room.available > 0) ? "now" : "full";
      return { spec, rooms, state, why };
    })
    .sort(
      (a, b) =>
        order[a.state] - order[b.state] ||
        Number(parseAmount(a.spec.price_per_hour) - parseAmount(b.spec.price_per_hour)),
    );
}

/** Default datacenter: the one with most free units, or the first if none has any. */
export function bestPlace(offer: Offer | undefined): string | null {
  if (!offer) return null;
  return offer.rooms.toSorted((a, b) => b.available - a.available)[0]?.datacenter ?? null;
}

/** The one that was used last if it can start now, else the cheapest that can. */
export function firstChoice(offers: readonly Offer[], last: string | undefined): string {
  const ready = offers.filter((it) => it.state === "now");
  return (ready.find((it) => it.spec.name === last) ?? ready[0])?.spec.name ?? "";
}

export interface Instead {
  spec: GpuSpec;
  datacenter: string;
}

/** What has room instead: with as much video memory if there is, nearest in price. */
export function insteadOf(offer: Offer, offers: readonly Offer[], place: string | null): Instead[] {
  const distance = (other: Offer) => {
    const difference = parseAmount(other.spec.price_per_hour) - parseAmount(offer.spec.price_per_hour);
    const isSmaller = other.spec.video_memory_mib < offer.spec.video_memory_mib;
    return Number(difference < 0n ? -difference : difference) + (isSmaller ? 10_000_000 : 0);
  };
  return offers
    .filter((other) => other.state === "now" && other.spec.id !== offer.spec.id)
    .sort((a, b) => distance(a) - distance(b))
    .slice(0, 2)
    .map((other) => ({ spec: other.spec, datacenter: place ?? bestPlace(other) ?? "" }));
}

/** How many more instances the quota allows; null without a limit. */
export function roomInQuota({ limits, used }: Quota): number | null {
  const gpus = Object.values(used.gpus).reduce((sum, count) => sum + count, 0);
  const left = [
    limits.instances != null ? limits.instances - used.instances : null,
    limits.gpus != null ? limits.gpus - gpus : null,
  ].filter((it) => it !== null);
  return left.length === 0 ? null : Math.max(0, Math.min(...left));
}
