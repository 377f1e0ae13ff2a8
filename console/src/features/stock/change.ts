import type { StockRow } from "@/api/generated/types";
import { parseAmount } from "@/lib/money";

/** The most units in one addition or removal. */
export const MOST = 1000;

export interface StockPlan {
  /** Units that are added, or removed if negative. */
  units: number;
  /** Of a removal: inactive units that go first. */
  inactive: number;
  /** How the counts are when it is done. */
  after: { available: number; inactive: number; used: number; total: number };
}

/** What brings the available units of a row to `wanted`. A removal takes inactive units before available ones. */
export function planOf(row: StockRow, wanted: number): StockPlan {
  const { available, used } = row;
  const inactive = wanted < available ? row.inactive : 0;
  const units = wanted - available - inactive;
  return {
    units,
    inactive,
    after: {
      available: wanted,
      inactive: row.inactive - inactive,
      used,
      total: wanted + row.inactive - inactive + used,
    },
  };
}

export const isCount = (text: string) => /^\d{1,6}$/.test(text);

/** 0 to 1000000, with at most 6 digits after the point. */
export const isPrice = (text: string) =>
  /^\d{1,7}(\.\d{1,6})?$/.test(text) && parseAmount(text) <= 1_000_000_000_000n;

/** Whether a price rises (1), falls (-1) or is the same, however it is written. */
export function riseOf(from: string, to: string): -1 | 0 | 1 {
  const by = parseAmount(to) - parseAmount(from);
  if (by === 0n) return 0;
  return by > 0n ? 1 : -1;
}
