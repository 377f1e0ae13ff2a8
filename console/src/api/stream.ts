import { environment } from "./client";
import { problemOf } from "./problem";

export interface StreamEvent {
  id: string | null;
  type: string;
  data: string;
}

/** A comment comes every 15 seconds: a connection that is silent for longer is treated as lost. */
const SILENCE = 40_000;

/** A stream that was asked for, and may not have been answered yet. */
export interface BegunStream {
  answer: Promise<Response>;
  end: () => void;
}

/** Asks for server-sent events, after those that were heard. */
export function beginStream(url: string, lastEventId?: string | null): BegunStream {
  const headers = new Headers({ accept: "text/event-stream" });
  if (lastEventId) headers.set("last-event-id", lastEventId);
  const ended = new AbortController();
  const answer = environment.fetch(url, {
    headers,
    credentials: "same-origin",
    cache: "no-store",
    signal: ended.signal,
  });
  return { answer, end: () => ended.abort() };
}

/** Reads server-sent events until the stream ends. Throws as `call` does when it does not open. */
export async function readStream(
  { answer, end }: BegunStream,
  options: {
    signal: AbortSignal;
    onOpen: () => void;
    onEvent: (event: StreamEvent) => void;
  },
): Promise<void> {
  if (options.signal.aborted) end();
  options.signal.addEventListener("abort", end);
  const wait = () => setTimeout(end, SILENCE);
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    const response = await answer;
    if (!response.ok || !response.body) throw await problemOf(response);
    options.onOpen();
    const parse = eventParser(options.onEvent);
    timer = wait();
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      clearTimeout(timer);
      timer = wait();
      parse(text);
    }
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener("abort", end);
  }
}

/** Takes pieces of a stream, however they are cut, and gives whole events. An id alone is a position: its data is empty. */
export function eventParser(onEvent: (event: StreamEvent) => void): (text: string) => void {
  let rest = "";
  let position: string | null = null;
  let event: StreamEvent = { id: null, type: "message", data: "" };
  const field = (line: string) => {
    const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (name === "data") event.data += event.data ? `\n${value}` : value;
    else if (name === "event") event.type = value;
    else if (name === "id") event.id = value;
  };
  return (text) => {
    const lines = (rest + text).split(/\r\n|\n|\r/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line !== "") {
        field(line);
        continue;
      }
      if (event.data || event.id !== position) onEvent(event);
      position = event.id;
      event = { id: event.id, type: "message", data: "" };
    }
  };
}
