import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { stock } from "@/api/catalogue";
import { useLoaded, useLoadedPages } from "@/api/query";
import { stockOperations } from "@/api/stock";
import { isOpen, stockOperationsOf } from "@/domain/catalogue/stock";

/** How often changes in progress are asked for, in milliseconds. No event tells of them. */
const LOOK = 2000;

/** Additions and removals, and the stock that they change, while the page is seen. */
export function useStock() {
  const client = useQueryClient();
  const pages = useLoadedPages({
    ...stockOperations,
    refetchInterval: ({ state }) =>
      state.data?.pages.some((page) => page.items.some(isOpen)) ? LOOK : false,
  });
  const operations = stockOperationsOf(pages.data.pages.flatMap((page) => page.items));
  const open = operations.filter(isOpen).length;
  const rows = useLoaded({ ...stock, refetchInterval: open > 0 ? LOOK : false });
  const before = useRef(open);
  useEffect(() => {
    // the last units came with the end of the change
    if (open < before.current) void client.invalidateQueries({ queryKey: stock.queryKey });
    before.current = open;
  }, [open, client]);
  return { rows, operations, open, pages };
}
