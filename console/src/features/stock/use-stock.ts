import { stock } from "@/api/catalogue";
import { useLoaded, useLoadedPages } from "@/api/query";
import { stockOperations } from "@/api/stock";
import { isOpen, stockOperationsOf } from "@/domain/catalogue/stock";

/** Additions and removals, and the stock that they change. */
export function useStock() {
  const pages = useLoadedPages(stockOperations);
  const operations = stockOperationsOf(pages.data.pages.flatMap((page) => page.items));
  return { rows: useLoaded(stock), operations, open: operations.filter(isOpen).length, pages };
}
