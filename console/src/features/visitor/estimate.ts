import type { Offer, StorageOffer } from "@/api/generated/types";
import { costOf, monthlyOf, parseAmount, type Totals, totalOf } from "@/lib/money";

/** What is typed; all of it can be wrong. */
export interface Draft {
  gpu: string;
  hours: string;
  days: string;
  /** Empty for none. */
  storage: string;
  gib: string;
}

export type Wrong = { [Field in keyof Draft]?: true };

export interface Estimate {
  /** Seconds of GPU in a month. */
  seconds: number;
  gpu: Totals;
  storage: Totals;
  month: Totals;
}

const byPrice = (a: Offer, b: Offer) => {
  const order = parseAmount(a.price_per_hour) - parseAmount(b.price_per_hour);
  return order < 0n ? -1 : order > 0n ? 1 : a.name.localeCompare(b.name);
};

export const sortedByPrice = (items: readonly Offer[]) => items.toSorted(byPrice);

/** The first that one can start now, or the first of all. */
export function cheapest(items: readonly Offer[]): Offer | undefined {
  const sorted = sortedByPrice(items);
  return sorted.find((it) => it.datacenters.some((one) => one.room !== "none")) ?? sorted[0];
}

/** "7.5" and "7,5" are the same; null if it is no number between the two. */
export function numberOf(text: string, least: number, most: number, whole = true): number | null {
  const value = text.trim() === "" ? Number.NaN : Number(text.trim().replace(",", "."));
  if (!(value >= least && value <= most) || (whole && !Number.isInteger(value))) return null;
  return value;
}

/** What a month costs, or which fields are wrong. */
export function estimateOf(
  draft: Draft,
  offers: readonly Offer[],
  storages: readonly StorageOffer[],
): { estimate: Estimate | null; wrong: Wrong } {
  const offer = offers.find((it) => it.name === draft.gpu);
  const storage = storages.find((it) => it.name === draft.storage);
  const hours = numberOf(draft.hours, 0, 24, false);
  const days = numberOf(draft.days, 0, 31);
  const gib = storage ? numberOf(draft.gib, storage.min_size_gib, storage.max_size_gib) : 0;
  const wrong: Wrong = {
    ...(hours === null && { hours: true }),
    ...(days === null && { days: true }),
    ...(gib === null && { gib: true }),
  };
  if (!offer || hours === null || days === null || gib === null) return { estimate: null, wrong };
  const seconds = Math.round(hours * 3600) * days;
  const gpu = totalOf([offer], (it) => costOf(it.price_per_hour, seconds));
  const kept = storage ? monthlyOf([{ ...storage, size_gib: gib }]) : new Map<string, bigint>();
  const parts = [...gpu, ...kept].map(([currency, amount]) => ({ currency, amount }));
  return {
    estimate: { seconds, gpu, storage: kept, month: totalOf(parts, (it) => it.amount) },
    wrong,
  };
}
