import {
  type InfiniteData,
  type Query,
  QueryClient,
  type QueryKey,
  type UseSuspenseInfiniteQueryOptions,
  type UseSuspenseQueryOptions,
  useMutation,
  useQueryClient,
  useSuspenseInfiniteQuery,
  useSuspenseQuery,
} from "@tanstack/react-query";
import { useRef } from "react";
import { ApiError, NetworkError } from "./problem";

/** When each query was asked for. A further page of a list makes the pages before it no newer. */
const askedAt = new WeakMap<Query, number>();

/** `call` waits and repeats by itself, so a query fails at once. */
export function makeQueryClient() {
  const client = new QueryClient({
    defaultOptions: { queries: { staleTime: 30_000, retry: false }, mutations: { retry: false } },
  });
  client.getQueryCache().subscribe((event) => {
    if (event.type === "updated" && event.action.type === "fetch" && !event.action.meta?.fetchMore)
      askedAt.set(event.query, performance.now());
  });
  return client;
}

/** Whether what a query shows was asked for before a time of this page. */
export const wasAskedBefore = (query: Query, time: number) => (askedAt.get(query) ?? 0) < time;

/** What the route's loader has read. A query that no loader read is a mistake of the page, and says so in development. */
export function useLoaded<T, Data, Key extends QueryKey>(
  options: UseSuspenseQueryOptions<T, Error, Data, Key>,
): Data {
  useReadBefore(options.queryKey);
  return useSuspenseQuery(options).data;
}

/** The same for a list that is read page by page. */
export function useLoadedPages<Page, Key extends QueryKey, Cursor>(
  options: UseSuspenseInfiniteQueryOptions<Page, Error, InfiniteData<Page>, Key, Cursor>,
) {
  useReadBefore(options.queryKey);
  return useSuspenseInfiniteQuery(options);
}

function useReadBefore(key: QueryKey) {
  const client = useQueryClient();
  if (import.meta.env.DEV && !client.getQueryState(key))
    throw new Error(`no loader has read ${JSON.stringify(key)}`);
}

export interface ActOptions<Variables, Answer> {
  /** Lists and things that are read again when it has worked. */
  touches?: readonly QueryKey[];
  /** Shows what is expected; returns what puts it back. */
  expect?: (variables: Variables) => () => void;
  onDone?: (answer: Answer, variables: Variables) => void;
  onFailed?: (error: Error, variables: Variables) => void;
}

export interface Act<Variables> {
  run: (variables: Variables) => void;
  busy: boolean;
  error: Error | null;
  reset: () => void;
  /** What is being done now, for rows that show it. */
  variables: Variables | undefined;
}

/** Whether the outcome of a request is unknown: a retry must send the same Idempotency-Key. */
export const isOpen = (error: unknown) =>
  error instanceof NetworkError || (error instanceof ApiError && error.status >= 500);

/** A press that writes. It makes the Idempotency-Key, and keeps it while the outcome of the same press is unknown. */
export function useAct<Variables = void, Answer = void>(
  act: (variables: Variables, key: string) => Promise<Answer>,
  { touches = [], expect, onDone, onFailed }: ActOptions<Variables, Answer> = {},
): Act<Variables> {
  const client = useQueryClient();
  const last = useRef<{ body: string; key: string } | null>(null);
  const mutation = useMutation<Answer, Error, Variables, (() => void) | undefined>({
    mutationFn: async (variables) => {
      const body = JSON.stringify(variables) ?? "";
      const key = last.current?.body === body ? last.current.key : crypto.randomUUID();
      try {
        const answer = await act(variables, key);
        last.current = null;
        return answer;
      } catch (error) {
        last.current = isOpen(error) ? { body, key } : null;
        throw error;
      }
    },
    onMutate: (variables) => expect?.(variables),
    onError: (error, variables, undo) => {
      undo?.();
      onFailed?.(error, variables);
    },
    onSuccess: async (answer, variables) => {
      await Promise.all(touches.map((queryKey) => client.invalidateQueries({ queryKey })));
      onDone?.(answer, variables);
    },
  });
  return {
    run: (variables) => {
      if (!mutation.isPending) mutation.mutate(variables);
    },
    busy: mutation.isPending,
    error: mutation.error,
    reset: mutation.reset,
    variables: mutation.isPending ? mutation.variables : undefined,
  };
}
