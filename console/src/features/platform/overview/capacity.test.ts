import { expect, test } from "vitest";
import type { StockRow } from "@/api/generated/types";
import { capacityOf } from "./capacity";

const row = (name: string, used: number, available: number, inactive: number) =>
  ({
    datacenter: { id: `dc_${name}`, name },
    datacenter_state: "active",
    used,
    available,
    inactive,
  }) as unknown as StockRow;

test("the rows of a datacenter are summed, and what is sold out is counted", () => {
  expect(capacityOf([row("uk-1", 10, 0, 1), row("de-2", 2, 3, 0), row("uk-1", 5, 7, 2)])).toEqual([
    { id: "dc_de-2", datacenter: "de-2", draining: false, used: 2, available: 3, inactive: 0, soldOut: 0 },
    { id: "dc_uk-1", datacenter: "uk-1", draining: false, used: 15, available: 7, inactive: 3, soldOut: 1 },
  ]);
});
