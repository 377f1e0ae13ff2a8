import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import { listDeadMessages, listMqCredentials } from "@/api/generated/operations";

/** A tenant has at most 20. */
export const credentials = queryOptions({
  queryKey: ["mq-credentials"],
  queryFn: ({ signal }) => call(listMqCredentials, { query: { limit: 200 } }, { signal }),
});

const PAGE = 50;

/** Refused messages, newest first. */
export const refused = infiniteQueryOptions({
  queryKey: ["mq-dead"],
  queryFn: ({ pageParam, signal }) =>
    call(listDeadMessages, { query: { limit: PAGE, ...(pageParam && { cursor: pageParam }) } }, { signal }),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.next_cursor,
});
