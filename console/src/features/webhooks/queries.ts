import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import { getWebhook, listJobEvents, listWebhookDeliveries, listWebhooks } from "@/api/generated/operations";
import type { DeliveryState, JobId, WebhookDelivery, WebhookId } from "@/api/generated/types";
import { ApiError } from "@/api/problem";

/** A tenant has at most 16. */
export const webhooks = queryOptions({
  queryKey: ["webhooks"],
  queryFn: ({ signal }) => call(listWebhooks, { query: { limit: 200 } }, { signal }),
});

/** Read by itself as well: changes need its ETag. */
export const webhook = (id: WebhookId) =>
  queryOptions({
    queryKey: ["webhooks", id],
    queryFn: ({ signal }) => call(getWebhook, { path: { id } }, { signal }),
  });

const SOON = 60_000;

/** How long until something may have come of what waits, in milliseconds. */
export function waitFor(items: readonly WebhookDelivery[], now: number): number | false {
  const due = items.filter((it) => it.state === "pending").map((it) => Date.parse(it.next_attempt_at ?? ""));
  if (due.length === 0) return false;
  return due.some((at) => Number.isNaN(at) || at < now + SOON) ? 2000 : 30_000;
}

/** Newest first. */
export const deliveries = (id: WebhookId, state?: DeliveryState) =>
  infiniteQueryOptions({
    queryKey: ["webhooks", id, "deliveries", state ?? "all"],
    queryFn: ({ pageParam, signal }) =>
      call(
        listWebhookDeliveries,
        {
          path: { id },
          query: { limit: 50, ...(state && { state }), ...(pageParam && { cursor: pageParam }) },
        },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: ({ state: { data } }) =>
      waitFor(data?.pages.flatMap((page) => page.items) ?? [], Date.now()),
  });

/** The event that a delivery tells of: its id is that of the message. Null if the job is gone. */
export const eventOf = (message: string) =>
  queryOptions({
    queryKey: ["job-event", message],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const id = message.replace(/-.*$/, "") as JobId;
      try {
        const page = await call(listJobEvents, { path: { id }, query: { limit: 200 } }, { signal });
        return page?.items.find((it) => it.id === message) ?? null;
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }
    },
  });
