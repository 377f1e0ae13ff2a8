import { followAllStream } from "./generated/operations";
import type { Event, JobEvent, StockEvent, StorageEvent } from "./generated/types";
import { type BegunStream, beginStream } from "./stream";

/** The tab of the browser that holds the lock reads the stream and tells the others. */
export const LOCK = "atelier-live";
/** How long a page waits for events to be heard before it reads its lists, in milliseconds. */
const PATIENCE = 300;

export type LiveState = "connecting" | "live" | "reconnecting";
/** What a service tells. */
export type LiveEvent = Event | JobEvent | StorageEvent | StockEvent;

/** What tabs tell each other. */
export type Told =
  | { state: LiveState }
  | { position: string | null; event: LiveEvent | null }
  | { gap: true }
  | { ask: true };

/** How this tab hears events, from before its code is there. */
export interface Line {
  channel: BroadcastChannel;
  /** What other tabs have told until somebody listens. */
  told: Told[];
  /** The stream with its lock, which this tab holds until it releases it; null if another tab does. */
  lead: Promise<{ stream: BegunStream; release: () => void } | null>;
  /** The time when the first event could be heard. */
  opened: Promise<number>;
}

let line: Line | null = null;
let heard: Promise<unknown> | null = null;

/** Begins to hear events. */
export function openLine(): Line {
  if (line) return line;
  const channel = new BroadcastChannel(LOCK);
  const lead = Promise.withResolvers<Awaited<Line["lead"]>>();
  const opened = Promise.withResolvers<number>();
  const open = () => opened.resolve(performance.now());
  const told: Told[] = [];
  channel.onmessage = ({ data }: MessageEvent<Told>) => {
    told.push(data);
    if ("state" in data && data.state === "live") open();
  };
  channel.postMessage({ ask: true } satisfies Told);
  navigator.locks
    .request(LOCK, { ifAvailable: true }, (lock) => {
      if (!lock) return lead.resolve(null);
      const stream = beginStream(followAllStream.path);
      stream.answer.then(
        ({ ok }) => ok && open(),
        () => undefined, // it is the reader that says so
      );
      return new Promise<void>((release) => lead.resolve({ stream, release }));
    })
    .catch(() => lead.resolve(null));
  line = { channel, told, lead: lead.promise, opened: opened.promise };
  return line;
}

/** Waits until events are heard, or for a short time: what is read then need not be read again. */
export function untilHeard(): Promise<unknown> {
  heard ??= Promise.race([openLine().opened, new Promise((resolve) => setTimeout(resolve, PATIENCE))]);
  return heard;
}

/** The line for the one that listens, who closes it. */
export function takeLine(): Line {
  const taken = openLine();
  line = null;
  return taken;
}

/** Ends the line that nobody has taken. */
export async function closeLine() {
  if (!line) return;
  const { channel, lead } = takeLine();
  heard = null;
  channel.close();
  const led = await lead;
  led?.stream.end();
  led?.release();
}
