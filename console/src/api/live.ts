import type { QueryClient } from "@tanstack/react-query";
import { createStore } from "@/lib/store";
import { environment } from "./client";
import { followAllStream } from "./generated/operations";
import type { Event, JobEvent, StockEvent, StorageEvent, StreamEvent, StreamNotice } from "./generated/types";
import { ApiError } from "./problem";
import { readStream } from "./stream";

/** The tab of the browser that holds the lock reads the stream and tells the others. */
const LOCK = "atelier-live";

export type LiveState = "connecting" | "live" | "reconnecting";
export const liveState = createStore<LiveState>("connecting");

/** What a service tells. */
export type LiveEvent = Event | JobEvent | StorageEvent | StockEvent;
/** What events are about: the first part of their type. */
type Subject = LiveEvent["type"] extends infer Type
  ? Type extends `${infer Name}.${string}`
    ? Name
    : never
  : never;
type EventAbout<S extends Subject> = Extract<LiveEvent, { type: `${S}.${string}` }>;

type Told =
  | { state: LiveState }
  | { position: string | null; event: LiveEvent | null }
  | { gap: true }
  | { ask: true };

/** The newest position that was heard, so that a tab that takes over goes on from it. */
let position: string | null = null;
const listeners = new Set<(event: LiveEvent) => void>();

/** Hears each event about these subjects that the session may see. Returns what ends it. */
export function onEvents<const S extends Subject>(
  subjects: readonly S[],
  listener: (event: EventAbout<S>) => void,
): () => void {
  const isWanted = (event: LiveEvent): event is EventAbout<S> =>
    subjects.some((it) => event.type.startsWith(`${it}.`));
  const hear = (event: LiveEvent) => {
    if (isWanted(event)) listener(event);
  };
  listeners.add(hear);
  return () => listeners.delete(hear);
}

/** Calls once, as soon as events are heard: what was read before may be old already. Returns what ends it. */
export function onLive(listener: () => void): () => void {
  const hear = () => {
    if (liveState.get() !== "live") return;
    stop();
    listener();
  };
  const stop = liveState.subscribe(hear);
  hear();
  return stop;
}

const isNotice = (event: StreamEvent): event is StreamNotice => event.type.startsWith("stream.");

/**
 * Follows what the session may see until the signal. After a gap everything shown is read again.
 * `onRefused`: the session may no longer read what the tenant has.
 */
export function followLive(client: QueryClient, signal: AbortSignal, onRefused: () => Promise<void>) {
  const channel = new BroadcastChannel(LOCK);
  const hear = (told: Told) => {
    if ("state" in told) liveState.set(told.state);
    else if ("event" in told) {
      if (told.position) position = told.position;
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
  // another session begins with what comes next
  position = null;
  navigator.locks
    .request(LOCK, { signal }, () => {
      leads = true;
      return lead(tell, signal, onRefused);
    })
    .catch(() => undefined); // aborted while another tab leads
}

async function lead(
  tell: (told: Told) => void,
  signal: AbortSignal,
  onRefused: () => Promise<void>,
): Promise<void> {
  const tellState = (state: LiveState) => {
    if (state !== liveState.get()) tell({ state });
  };
  for (let failures = 0; !signal.aborted; ) {
    let opened = false;
    let pause: number | null = null;
    try {
      const away = new Set<string>();
      await readStream(followAllStream.path, {
        signal,
        lastEventId: position,
        onOpen: () => {
          if (failures > 0 && !position) tell({ gap: true });
          opened = true;
          failures = 0;
          tellState("live");
        },
        onEvent: ({ id, data }) => {
          const event = data ? (JSON.parse(data) as StreamEvent) : null;
          if (!event || !isNotice(event)) return tell({ position: id, event });
          if (event.type === "stream.reset") tell({ gap: true });
          // every member may follow the instances of the tenant
          if (event.type === "stream.opened" && !event.topics.includes("instances"))
            void onRefused().catch(() => undefined);
          for (const topic of event.topics)
            if (event.type === "stream.away") away.add(topic);
            else if (event.type === "stream.back") away.delete(topic);
          tellState(away.size > 0 ? "reconnecting" : "live");
        },
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError) pause = error.retryAfter;
      if (error instanceof ApiError && error.status === 403) await onRefused().catch(() => undefined);
      if (error instanceof ApiError && error.status === 401)
        await environment.signInAgain("session-ended").catch(() => undefined);
    }
    if (signal.aborted) return;
    if (!opened) failures++;
    else failures = 1;
    tellState("reconnecting");
    await environment
      .wait(pause ?? Math.min(15, 0.2 * 3 ** (failures - 1)) * (0.75 + Math.random() / 2), signal)
      .catch(() => undefined);
  }
}
