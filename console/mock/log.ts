import type { LogLine } from "../src/api/generated/types";
import type { Backend } from "./backend.ts";
import type { MockReply, MockRequest } from "./http.ts";
import type { Kept } from "./kept.ts";

/** Milliseconds between two lines of a followed log. */
const PACE = 600;
const OLDER = 420;

const opening = [
  "Python 3.10.14 (main, May 14 2026, 06:11:20) [GCC 11.4.0]",
  "Launching Web UI with arguments: --listen --port 7860 --api",
  "Loading weights [31e35c80fc] from /workspace/models/sd_xl_base_1.0.safetensors",
  "Applying attention optimization: sdp… done.",
  "Model loaded in 6.4s (load weights from disk: 1.1s, create model: 0.6s, apply weights to model: 4.3s).",
  "Running on local URL:  http://0.0.0.0:7860",
  "Startup time: 11.8s (prepare environment: 2.4s, import torch: 3.7s, load scripts: 1.9s).",
];

const picture = (n: number) => [
  `txt2img 1024x1024, DPM++ 2M Karras, 28 steps, seed ${(n * 7919) % 1_000_000}`,
  ` 50%|█████     | 14/28 [00:02<00:02,  6.41it/s]`,
  `100%|██████████| 28/28 [00:04<00:00,  6.38it/s]`,
  `saved /workspace/outputs/2026-11/${String(n).padStart(5, "0")}.png`,
  ...(n % 9 === 4 ? ["WARNING: prompt has 91 tokens, the last 14 are in a second chunk"] : []),
];

function textAt(index: number): string {
  if (index < opening.length) return opening[index] as string;
  const at = index - opening.length;
  const lines = picture(Math.floor(at / 5) + 100);
  return lines[at % 5] ?? `GET /internal/progress 200 in ${3 + (at % 7)} ms`;
}

const logs = new WeakMap<Kept, LogLine[]>();

const failed = (kept: Kept): LogLine[] =>
  (kept.it.log_tail ?? "").split("\n").map((text, i) => ({
    time: new Date(Date.parse(kept.it.updated_at) - 5_000 + i * 400).toISOString(),
    text,
    continues: false,
  }));

/** All lines so far, generated at the first request. */
export function linesOf(kept: Kept): LogLine[] {
  if (kept.it.log_tail) return failed(kept);
  let lines = logs.get(kept);
  if (!lines) {
    const end = Date.now();
    const begin = Date.parse(kept.it.started_at ?? kept.runs[0]?.started_at ?? kept.it.updated_at);
    const step = (end - begin) / OLDER;
    lines = Array.from({ length: OLDER }, (_, i) => ({
      time: new Date(begin + i * step).toISOString(),
      text: textAt(i),
      continues: false,
    }));
    logs.set(kept, lines);
  }
  return lines;
}

function grow(kept: Kept) {
  const lines = linesOf(kept);
  lines.push({ time: new Date().toISOString(), text: textAt(lines.length), continues: false });
}

/** Lines are added only while the log is followed. */
const readers = new Map<Kept, { count: number; timer: ReturnType<typeof setInterval> }>();

function writing(kept: Kept): () => void {
  const known = readers.get(kept);
  if (known) known.count++;
  else
    readers.set(kept, {
      count: 1,
      timer: setInterval(() => kept.it.state === "running" && !kept.it.log_tail && grow(kept), PACE),
    });
  return () => {
    const reader = readers.get(kept);
    if (!reader || --reader.count > 0) return;
    clearInterval(reader.timer);
    readers.delete(kept);
  };
}

const idOf = (kept: Kept, at: number) => `${kept.attempt}-${at}`;

/** The log of an instance as events, or as text for a download. */
export function followLog(backend: Backend, kept: Kept, request: MockRequest): MockReply {
  const attempt = Number(request.query.get("attempt") ?? kept.attempt);
  const isPresent = attempt === kept.attempt;
  // an earlier attempt wrote the same, and less of it
  const lines = () => (isPresent ? linesOf(kept) : linesOf(kept).slice(0, 60));
  if (!request.headers.get("accept")?.includes("text/event-stream")) {
    const times = request.query.get("timestamps") === "true";
    const text = lines().map((line) => (times ? `${line.time} ${line.text}\n` : `${line.text}\n`));
    return {
      status: 200,
      headers: { "content-type": "text/plain; charset=utf-8" },
      stream: ({ send, end }) => {
        send(text.join(""));
        end();
      },
    };
  }
  const resumed = /-(\d+)$/.exec(request.headers.get("last-event-id") ?? "")?.[1];
  const tail = Number(request.query.get("tail") ?? 1000);
  return {
    status: 200,
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
    stream: ({ send, end }, signal) => {
      let next = resumed === undefined ? Math.max(0, lines().length - tail) : Number(resumed) + 1;
      const flush = () => {
        const all = lines();
        for (; next < all.length; next++)
          send(`id: ${idOf(kept, next)}\ndata: ${JSON.stringify(all[next])}\n\n`);
      };
      send("retry: 1000\n\n");
      flush();
      if (!isPresent || kept.it.state !== "running") {
        send("event: end\ndata: {}\n\n");
        end();
        return;
      }
      const rest = writing(kept);
      const timer = setInterval(flush, PACE / 2);
      backend.logs.add(end);
      signal.addEventListener("abort", () => {
        clearInterval(timer);
        backend.logs.delete(end);
        rest();
      });
    },
  };
}
