import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { stock } from "@/api/catalogue";
import { call } from "@/api/client";
import { addStock, removeStock } from "@/api/generated/operations";
import type { Operation, OperationId, StockRow } from "@/api/generated/types";
import { isOpen } from "@/api/query";
import { stockOperations } from "@/api/stock";
import { rowKey } from "@/domain/catalogue/stock";
import { useText } from "@/i18n";
import { pooled } from "@/lib/pool";
import { describe } from "@/ui/error";

export interface Order {
  row: StockRow;
  count: number;
}

export interface Result extends Order {
  state: "open" | "accepted" | "refused";
  operation: OperationId | null;
  why: string | null;
}

/** How many requests of one press are on their way at once. */
const TOGETHER = 4;

/** Adds or removes units of several rows, each by an operation of its own. */
export function useBulk(kind: "add" | "remove") {
  const { t } = useText();
  const client = useQueryClient();
  const [results, setResults] = useState<readonly Result[] | null>(null);
  // kept while the outcome is unknown: the same press is not done twice
  const keys = useRef(new Map<string, string>());
  const send = ({ row, count }: Order) => {
    const key = keys.current.get(rowKey(row)) ?? crypto.randomUUID();
    const told = (change: Partial<Result>) =>
      setResults(
        (old) => old?.map((one) => (rowKey(one.row) === rowKey(row) ? { ...one, ...change } : one)) ?? null,
      );
    const accepted = ({ id }: Operation) => {
      keys.current.delete(rowKey(row));
      told({ state: "accepted", operation: id });
    };
    const refused = (error: unknown) => {
      if (isOpen(error)) keys.current.set(rowKey(row), key);
      else keys.current.delete(rowKey(row));
      told({ state: "refused", why: describe(error, t) });
    };
    const body = { gpu_spec: row.gpu_spec.name, datacenter: row.datacenter.name, count };
    return call(kind === "add" ? addStock : removeStock, { body }, { key }).then(accepted, refused);
  };
  const run = async (orders: readonly Order[]) => {
    const fresh = orders.map(
      ({ row, count }): Result => ({
        row,
        count,
        state: "open",
        operation: null,
        why: null,
      }),
    );
    setResults(
      (old) => old?.map((one) => fresh.find((it) => rowKey(it.row) === rowKey(one.row)) ?? one) ?? fresh,
    );
    await pooled(orders, TOGETHER, send);
    for (const queryKey of [stock.queryKey, stockOperations.queryKey])
      void client.invalidateQueries({ queryKey });
  };
  return { results, run };
}
