import { infiniteQueryOptions, type QueryKey } from "@tanstack/react-query";
import { call } from "./client";
import type { Operation } from "./operation";

interface Paged {
  query?: { limit?: number; cursor?: string };
}

export interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}

/** A list that is read page by page as one scrolls. */
export const pagesOf = <Request extends Paged, Item>(
  queryKey: QueryKey,
  operation: Operation<Request, Page<Item>>,
  request: Omit<Request, "headers">,
  limit = 100,
) =>
  infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam, signal }) => {
      const { query } = request as Paged;
      const asked = { ...request, query: { ...query, limit, ...(pageParam && { cursor: pageParam }) } };
      return call(operation as Operation<Paged, Page<Item>>, asked, { signal });
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });
