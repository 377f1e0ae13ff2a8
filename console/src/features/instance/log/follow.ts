import { useEffect, useState } from "react";
import { environment } from "@/api/client";
import { getInstanceLogStream } from "@/api/generated/operations";
import type { InstanceId, LogLine } from "@/api/generated/types";
import { pathOf } from "@/api/path";
import { ApiError } from "@/api/problem";
import { beginStream, readStream } from "@/api/stream";
import { append, empty, type Log } from "./buffer";

export type LineState = "connecting" | "live" | "lost" | "ended" | { error: unknown };

const TAIL = 2000;
/** Lines that come together are drawn together. */
const TOGETHER = 60;

/** The log of an attempt, followed from its end; what comes after a lost line continues where it was. */
export function useLog(id: InstanceId, attempt: number | undefined): { log: Log; state: LineState } {
  const [log, setLog] = useState<Log>(empty);
  const [state, setState] = useState<LineState>("connecting");
  useEffect(() => {
    const end = new AbortController();
    setLog(empty);
    void follow(id, attempt, end.signal, setState, (lines, gap) => setLog((old) => append(old, lines, gap)));
    return () => end.abort();
  }, [id, attempt]);
  return { log, state };
}

async function follow(
  id: InstanceId,
  attempt: number | undefined,
  signal: AbortSignal,
  tell: (state: LineState) => void,
  give: (lines: LogLine[], gap: boolean) => void,
) {
  let position: string | null = null;
  let waiting: LogLine[] = [];
  let gap = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  signal.addEventListener("abort", () => clearTimeout(timer));
  const flush = () => {
    timer = undefined;
    if (signal.aborted || waiting.length === 0) return;
    give(waiting, gap);
    waiting = [];
    gap = false;
  };
  const url = pathOf(getInstanceLogStream.path, {
    path: { id },
    query: { tail: TAIL, ...(attempt && { attempt }) },
  });
  for (let failures = 0; !signal.aborted; failures++) {
    let isOver = false;
    try {
      await readStream(beginStream(url, position), {
        signal,
        onOpen: () => {
          failures = 0;
          tell("live");
        },
        onEvent: (event) => {
          position = event.id ?? position;
          if (event.type === "end") isOver = true;
          else if (event.type === "gap") gap = true;
          else if (event.data) waiting.push(JSON.parse(event.data) as LogLine);
          timer ??= setTimeout(flush, TOGETHER);
        },
      });
    } catch (error) {
      if (signal.aborted) return;
      // what it refuses now it refuses again: no such log, no right to it
      if (error instanceof ApiError && error.status < 500 && error.status !== 429) {
        flush();
        tell(position ? "ended" : { error });
        return;
      }
    }
    flush();
    if (isOver) {
      tell("ended");
      return;
    }
    if (signal.aborted) return;
    tell("lost");
    await environment.wait(Math.min(15, 0.5 * 2 ** failures), signal).catch(() => undefined);
  }
}
