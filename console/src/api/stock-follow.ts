import type { QueryClient, QueryKey } from "@tanstack/react-query";
import { stock } from "./catalogue";
import { onEvents, readOnceHeard } from "./live";
import { stockOperationsKey } from "./stock-keys";

/** A change of many units is many events: what is shown is read again so often at most, in milliseconds. */
const TOGETHER = 400;

const units: QueryKey = ["stock-units"];

/** Keeps what is shown of the stock as it is in truth. Returns what ends it. */
export function followStock(client: QueryClient): () => void {
  const touched = new Map<string, QueryKey>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    timer = undefined;
    for (const queryKey of touched.values()) void client.invalidateQueries({ queryKey });
    touched.clear();
  };
  const touch = (...keys: QueryKey[]) => {
    for (const key of keys) touched.set(JSON.stringify(key), key);
    timer ??= setTimeout(flush, TOGETHER);
  };
  const rows: QueryKey[] = [stock.queryKey, ["platform", "overview", "stock"]];
  const operations: QueryKey[] = [stockOperationsKey, ["platform", "overview", "operations"]];
  const stops = [
    onEvents(["stock"], () => touch(...rows)),
    // an addition is as far as its units are
    onEvents(["unit"], ({ unit_id }) => touch(...rows, units, ["stock-unit", unit_id], ...operations)),
    onEvents(["operation"], ({ operation: { kind } }) => {
      if (kind === "add_stock" || kind === "remove_stock") touch(...operations);
    }),
    readOnceHeard(client, rows),
  ];
  return () => {
    for (const stop of stops) stop();
    clearTimeout(timer);
  };
}
