import type { StockRow } from "../../src/api/generated/types";
import { type Context, Refusal } from "../types.ts";

/** Units that instances hold, are held for, or are free. */
export const hasUnits = ({ backend }: Context, isOf: (row: StockRow) => boolean) =>
  backend.stock.some((row) => isOf(row) && row.available + row.inactive + row.used > 0);

export function found<Thing extends { id: string }>(items: readonly Thing[], id: string): Thing {
  const thing = items.find((it) => it.id === id);
  if (!thing) throw new Refusal("not-found");
  return thing;
}

export const isName = (name: string) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name);
export const isPrice = (price: string) => /^\d{1,7}(\.\d{1,6})?$/.test(price) && Number(price) <= 1_000_000;

export function refuseWrong(wrong: [pointer: string, isWrong: boolean, detail: string][]) {
  const errors = wrong.filter(([, isWrong]) => isWrong).map(([pointer, , detail]) => ({ pointer, detail }));
  if (errors.length > 0) throw new Refusal("invalid-field", { errors });
}

export const nameWrong =
  "must be a DNS label: 1 to 63 of a-z, 0-9 and `-`, beginning and ending with a letter or digit";
export const priceWrong = "must be between 0 and 1000000, with at most 6 digits after the point";
