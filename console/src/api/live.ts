import type { QueryClient } from "@tanstack/react-query";
import { createStore } from "@/lib/store";
import { environment } from "./client";
import type { Event, JobEvent } from "./generated/types";
import { ApiError } from "./problem";
import { readStream } from "./stream";

/** The tab of the browser that holds the lock reads the streams and tells the others. */
const LOCK = "atelier-live";

/** Streams that are followed. What an event is about follows from its type, so two can become one. */
const streams = ["/v1/events?after=latest", "/v1/job-events?after=latest"] as const;
type StreamPath = (typeof streams)[number];

export type LiveState = "connecting" | "live" | "reconnecting";
export const liveState = createStore<LiveState>("connecting");

type Told =
  | { state: LiveState }
  | { stream: StreamPath; position: string | null; event: Event | JobEvent | null }
  | { gap: true }
  | { ask: true };

/** The newest position heard of each stream, so that a tab that takes over goes on from it. */
const positions = new Map<StreamPath, string>();
const listeners = new Set<(event: Event) => void>();
const jobListeners = new Set<(event: JobEvent) => void>();

/** Hears each event of the tenant's instances and budget. Returns what ends it. */
export function onEvent(listener: (event: Event) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Hears each event of the tenant's jobs. Returns what ends it. */
export function onJobEvent(listener: (event: JobEvent) => void): () => void {
  jobListeners.add(listener);
  return () => jobListeners.delete(listener);
}

const isOfJob = (event: Event | JobEvent): event is JobEvent => event.type.startsWith("job.");

function deliver(event: Event | JobEvent) {
  if (isOfJob(event)) for (const listener of jobListeners) listener(event);
  else for (const listener of listeners) listener(event);
}

/**
 * Follows the events of the session's tenant until the signal. After a gap everything shown is read again.
 * `onRefused`: the person may no longer read them.
 */
export function followLive(client: QueryClient, signal: AbortSignal, onRefused: () => Promise<void>) {
  const channel = new BroadcastChannel(LOCK);
  const hear = (told: Told) => {
    if ("state" in told) liveState.set(told.state);
    else if ("stream" in told) {
      if (told.position) positions.set(told.stream, told.position);
      if (told.event) deliver(told.event);
    } else if ("gap" in told) void client.invalidateQueries();
  };
  const tell = (told: Told) => {
    hear(told);
    channel.postMessage(told);
  };
  let leads = false;
  channel.onmessage = ({ data }: MessageEvent<Told>) => {
    if (!("ask" in data)) hear(data);
    else if (leads) channel.postMessage({ state: liveState.get() } satisfies Told);
  };
  channel.postMessage({ ask: true } satisfies Told);
  signal.addEventListener("abort", () => channel.close());
  navigator.locks
    .request(LOCK, { signal }, async () => {
      leads = true;
      const states = new Map<StreamPath, LiveState>();
      // live when all are
      const tellState = (stream: StreamPath, state: LiveState) => {
        states.set(stream, state);
        const all = streams.map((it) => states.get(it) ?? "connecting");
        const worst = (["reconnecting", "connecting"] as const).find((it) => all.includes(it)) ?? "live";
        if (worst !== liveState.get()) tell({ state: worst });
      };
      await Promise.all(streams.map((it) => lead(it, tell, tellState, signal, onRefused)));
    })
    .catch(() => undefined); // aborted while another tab leads
}

async function lead(
  stream: StreamPath,
  tell: (told: Told) => void,
  tellState: (stream: StreamPath, state: LiveState) => void,
  signal: AbortSignal,
  onRefused: () => Promise<void>,
): Promise<void> {
  for (let failures = 0; !signal.aborted; ) {
    let opened = false;
    let pause: number | null = null;
    try {
      await readStream(stream, {
        signal,
        lastEventId: positions.get(stream) ?? null,
        onOpen: () => {
          if (failures > 0 && !positions.has(stream)) tell({ gap: true });
          opened = true;
          failures = 0;
          tellState(stream, "live");
        },
        onEvent: (event) => {
          const data = event.data ? (JSON.parse(event.data) as Event | JobEvent) : null;
          tell({ stream, position: event.id, event: data });
        },
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError) pause = error.retryAfter;
      if (error instanceof ApiError && error.is("events-deleted")) {
        positions.delete(stream);
        tell({ gap: true });
      }
      if (error instanceof ApiError && error.status === 403) await onRefused().catch(() => undefined);
      if (error instanceof ApiError && error.status === 401)
        await environment.signInAgain("session-ended").catch(() => undefined);
    }
    if (signal.aborted) return;
    if (!opened) failures++;
    else failures = 1;
    tellState(stream, "reconnecting");
    await environment
      .wait(pause ?? Math.min(15, 0.5 * 2 ** failures) * (0.75 + Math.random() / 2), signal)
      .catch(() => undefined);
  }
}
