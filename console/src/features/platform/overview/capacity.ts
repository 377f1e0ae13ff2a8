import type { DatacenterId, StockRow } from "@/api/generated/types";

export interface Capacity {
  id: DatacenterId;
  datacenter: string;
  draining: boolean;
  used: number;
  available: number;
  inactive: number;
  /** Specifications of which nothing is available. */
  soldOut: number;
}

/** The stock of each datacenter, over all specifications. */
export function capacityOf(rows: readonly StockRow[]): Capacity[] {
  const places = new Map<string, Capacity>();
  for (const row of rows) {
    const { id, name } = row.datacenter;
    const sum = places.get(name) ?? {
      id,
      datacenter: name,
      draining: row.datacenter_state === "draining",
      used: 0,
      available: 0,
      inactive: 0,
      soldOut: 0,
    };
    sum.used += row.used;
    sum.available += row.available;
    sum.inactive += row.inactive;
    if (row.available === 0) sum.soldOut += 1;
    places.set(name, sum);
  }
  return [...places.values()].sort((a, b) => a.datacenter.localeCompare(b.datacenter));
}
