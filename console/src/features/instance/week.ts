import type { MeteredRun } from "@/api/generated/types";
import { type Amount, costOf, parseAmount, type Totals } from "@/lib/money";

export interface Piece {
  /** Milliseconds since the epoch. */
  from: number;
  to: number;
  open: boolean;
  held: boolean;
}

export interface DayCost {
  /** Midnight of the reader's zone. */
  begin: number;
  end: number;
  seconds: number;
  cost: Totals;
}

export interface Week {
  begin: number;
  end: number;
  days: DayCost[];
  pieces: Piece[];
  runs: number;
  seconds: number;
  cost: Totals;
}

const DAYS = 7;

/** Midnights of the reader's zone around the last days: a day of the clock's change is longer or shorter. */
export function midnights(now: number, days = DAYS): number[] {
  const today = new Date(now);
  return Array.from({ length: days + 1 }, (_, i) =>
    new Date(today.getFullYear(), today.getMonth(), today.getDate() - days + 1 + i).getTime(),
  );
}

function add(totals: Map<string, Amount>, currency: string, amount: Amount) {
  totals.set(currency, (totals.get(currency) ?? 0n) + amount);
}

/** What a run has cost until then: the whole of it is what the bill says. */
function costUntil(run: MeteredRun, end: number, time: number): Amount {
  const from = Date.parse(run.started_at);
  if (time <= from) return 0n;
  if (run.ended_at && time >= end) return parseAmount(run.amount);
  return costOf(run.price_per_hour, (Math.min(time, end) - from) / 1000);
}

/** The last days with their costs, which add up to what the bill says of them. */
export function weekOf(runs: readonly MeteredRun[], now: number): Week {
  const marks = midnights(now);
  const begin = marks[0] as number;
  const end = marks.at(-1) as number;
  const days: (DayCost & { cost: Map<string, Amount> })[] = marks
    .slice(0, -1)
    .map((from, i) => ({ begin: from, end: marks[i + 1] as number, seconds: 0, cost: new Map() }));
  const pieces: Piece[] = [];
  const cost = new Map<string, Amount>();
  let count = 0;
  for (const run of runs) {
    const from = Date.parse(run.started_at);
    const to = run.ended_at ? Date.parse(run.ended_at) : Math.max(now, from);
    if (to <= begin || from >= end) continue;
    const isHeld = run.kind === "held";
    if (!isHeld) count++;
    pieces.push({
      from: Math.max(from, begin),
      to: Math.min(to, end),
      open: run.ended_at === null,
      held: isHeld,
    });
    for (const day of days) {
      if (to <= day.begin || from >= day.end) continue;
      if (!isHeld) day.seconds += (Math.min(to, day.end) - Math.max(from, day.begin)) / 1000;
      const part = costUntil(run, to, day.end) - costUntil(run, to, day.begin);
      add(day.cost, run.currency, part);
      add(cost, run.currency, part);
    }
  }
  pieces.sort((a, b) => a.from - b.from);
  const seconds = days.reduce((sum, day) => sum + day.seconds, 0);
  return { begin, end, days, pieces, runs: count, seconds, cost };
}
