import type { QueryClient } from "@tanstack/react-query";
import { createStore } from "@/lib/store";
import { environment } from "./client";
import type { Event } from "./generated/types";
import { ApiError } from "./problem";
import { readStream } from "./stream";

/** One stream a browser: the tab that holds the lock reads it and tells the others. */
const LOCK = "atelier-live";

export type LiveState = "connecting" | "live" | "reconnecting";
export const liveState = createStore<LiveState>("connecting");

type Told =
  | { state: LiveState }
  | { position: string | null; event: Event | null }
  | { gap: true }
  | { ask: true };

/** The newest position heard, so that a tab that takes over the stream goes on from it. */
let position: string | null = null;
const listeners = new Set<(event: Event) => void>();

/** Hears each event of the tenant. Returns what ends it. */
export function onEvent(listener: (event: Event) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Follows the events of the session's tenant until the signal. After a gap everything shown is read again.
 * `onRefused`: the person may no longer read them.
 */
export function followLive(client: QueryClient, signal: AbortSignal, onRefused: () => Promise<void>) {
  const channel = new BroadcastChannel(LOCK);
  const hear = (told: Told) => {
    if ("state" in told) liveState.set(told.state);
    else if ("event" in told) {
      position = told.position ?? position;
      if (told.event) for (const listener of listeners) listener(told.event);
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
      await lead(tell, signal, onRefused);
    })
    .catch(() => undefined); // aborted while another tab leads
}

async function lead(
  tell: (told: Told) => void,
  signal: AbortSignal,
  onRefused: () => Promise<void>,
): Promise<void> {
  for (let failures = 0; !signal.aborted; ) {
    let opened = false;
    let pause: number | null = null;
    try {
      await readStream("/v1/events?after=latest", {
        signal,
        lastEventId: position,
        onOpen: () => {
          if (failures > 0 && !position) tell({ gap: true });
          opened = true;
          failures = 0;
          tell({ state: "live" });
        },
        onEvent: (event) => {
          tell({ position: event.id, event: event.data ? (JSON.parse(event.data) as Event) : null });
        },
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError) pause = error.retryAfter;
      if (error instanceof ApiError && error.is("events-deleted")) {
        position = null;
        tell({ gap: true });
      }
      if (error instanceof ApiError && error.status === 403) await onRefused().catch(() => undefined);
      if (error instanceof ApiError && error.status === 401)
        await environment.signInAgain("session-ended").catch(() => undefined);
    }
    if (signal.aborted) return;
    if (!opened) failures++;
    else failures = 1;
    tell({ state: "reconnecting" });
    await environment
      .wait(pause ?? Math.min(15, 0.5 * 2 ** failures) * (0.75 + Math.random() / 2), signal)
      .catch(() => undefined);
  }
}
