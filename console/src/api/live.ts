import type { QueryClient, QueryKey } from "@tanstack/react-query";
import { createStore } from "@/lib/store";
import { environment } from "./client";
import { followAllStream } from "./generated/operations";
import type { StreamEvent, StreamNotice } from "./generated/types";
import { type LiveEvent, type LiveState, LOCK, type Told, takeLine } from "./line";
import { ApiError } from "./problem";
import { wasAskedBefore } from "./query";
import { type BegunStream, beginStream, readStream } from "./stream";

export type { LiveEvent };

export const liveState = createStore<LiveState>("connecting");

/** What events are about: the first part of their type. */
type Subject = LiveEvent["type"] extends infer Type
  ? Type extends `${infer Name}.${string}`
    ? Name
    : never
  : never;
type EventAbout<S extends Subject> = Extract<LiveEvent, { type: `${S}.${string}` }>;

/** The newest position that was heard, so that a tab that takes over goes on from it. */
let position: string | null = null;
/** When the first event could be heard; null if none can be yet. */
let heardSince: number | null = null;
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

/** Reads again, as soon as events are heard, what was asked for before: it may be old already. Returns what ends it. */
export function readOnceHeard(client: QueryClient, keys: readonly QueryKey[]): () => void {
  const hear = () => {
    const since = heardSince;
    if (liveState.get() !== "live" || since === null) return;
    stop();
    for (const queryKey of keys)
      void client.invalidateQueries({ queryKey, predicate: (query) => wasAskedBefore(query, since) });
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
  const line = takeLine();
  const { channel } = line;
  // another session begins with what comes next
  position = null;
  heardSince = null;
  void line.opened.then((at) => {
    heardSince ??= at;
  });
  const hear = (told: Told) => {
    if ("state" in told) {
      if (told.state === "live") heardSince ??= performance.now();
      liveState.set(told.state);
    } else if ("event" in told) {
      if (told.position) position = told.position;
      if (told.event) for (const listener of listeners) listener(told.event);
    } else if ("gap" in told) void client.invalidateQueries();
  };
  const tell = (told: Told) => {
    hear(told);
    channel.postMessage(told);
  };
  let leads = false;
  const listen = (told: Told) => {
    if (!("ask" in told)) hear(told);
    else if (leads) channel.postMessage({ state: liveState.get() } satisfies Told);
  };
  signal.addEventListener("abort", () => channel.close());
  const follow = async () => {
    const led = await line.lead;
    leads = led !== null;
    channel.onmessage = ({ data }: MessageEvent<Told>) => listen(data);
    for (const told of line.told) listen(told);
    if (led)
      return lead(tell, signal, onRefused, led.stream).finally(() => {
        led.stream.end();
        led.release();
      });
    await navigator.locks.request(LOCK, { signal }, () => {
      leads = true;
      return lead(tell, signal, onRefused, null);
    });
  };
  follow().catch(() => undefined); // aborted while another tab leads
}

async function lead(
  tell: (told: Told) => void,
  signal: AbortSignal,
  onRefused: () => Promise<void>,
  begun: BegunStream | null,
): Promise<void> {
  let next = begun;
  const tellState = (state: LiveState) => {
    if (state !== liveState.get()) tell({ state });
  };
  for (let failures = 0; !signal.aborted; ) {
    let opened = false;
    let pause: number | null = null;
    try {
      const away = new Set<string>();
      const stream = next ?? beginStream(followAllStream.path, position);
      next = null;
      await readStream(stream, {
        signal,
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
