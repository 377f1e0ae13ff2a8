import type { Instance } from "@/api/generated/types";
import type { EndedRuns } from "@/api/instances/queries";

/** A billed run inside the day, as parts of its width: 0 is a day ago, 1 is now. */
export interface Piece {
  from: number;
  to: number;
  open: boolean;
}

export interface Day {
  pieces: Piece[];
  seconds: number;
  /** Where knowledge begins: before it, nothing is known. 0 if all is known. */
  known: number;
}

const DAY = 86_400_000;

/** The last 24 hours of an instance until `now`, in milliseconds. */
export function lastDay(
  it: Pick<Instance, "id" | "state" | "started_at">,
  ended: EndedRuns,
  now: number,
): Day {
  const since = now - DAY;
  const spans = ended.runs
    .filter((run) => run.instance_id === it.id && Date.parse(run.ended_at) > since)
    .map((run) => ({ from: Date.parse(run.started_at), to: Date.parse(run.ended_at), open: false }));
  if (it.state === "running" && it.started_at)
    spans.push({ from: Date.parse(it.started_at), to: now, open: true });
  const pieces = spans
    .map((span) => ({ ...span, from: Math.max(span.from, since), to: Math.min(span.to, now) }))
    .filter((span) => span.to > span.from)
    .sort((a, b) => a.from - b.from);
  const place = (time: number) => (time - since) / DAY;
  return {
    pieces: pieces.map((span) => ({ from: place(span.from), to: place(span.to), open: span.open })),
    seconds: Math.round(pieces.reduce((sum, span) => sum + span.to - span.from, 0) / 1000),
    known: ended.known_since ? Math.max(0, place(Date.parse(ended.known_since))) : 0,
  };
}
