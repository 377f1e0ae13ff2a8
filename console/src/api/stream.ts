import { environment } from "./client";
import { problemOf } from "./problem";

export interface StreamEvent {
  id: string | null;
  type: string;
  data: string;
}

/** A comment comes every 15 seconds: a connection that is silent for longer is treated as lost. */
const SILENCE = 40_000;

/** Reads server-sent events until the stream ends. Throws as `call` does when it does not open. */
export async function readStream(
  url: string,
  options: {
    signal: AbortSignal;
    lastEventId?: string | null;
    onOpen: () => void;
    onEvent: (event: StreamEvent) => void;
  },
): Promise<void> {
  const headers = new Headers({ accept: "text/event-stream" });
  if (options.lastEventId) headers.set("last-event-id", options.lastEventId);
  const silent = new AbortController();
  const response = await environment.fetch(url, {
    headers,
    credentials: "same-origin",
    cache: "no-store",
    signal: AbortSignal.any([options.signal, silent.signal]),
  });
  if (!response.ok || !response.body) throw await problemOf(response);
  options.onOpen();
  const parse = eventParser(options.onEvent);
  const wait = () => setTimeout(() => silent.abort(), SILENCE);
  let timer = wait();
  try {
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      clearTimeout(timer);
      timer = wait();
      parse(text);
    }
  } finally {
    clearTimeout(timer);
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
