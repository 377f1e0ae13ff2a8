import type { Instance } from "@/api/generated/types";
import { type Amount, costOf } from "@/lib/money";

/** Seconds of the present run, or null if none is open. */
export function runningSeconds(it: Pick<Instance, "state" | "started_at">, now: number): number | null {
  if (it.state !== "running" || !it.started_at) return null;
  return Math.max(0, Math.floor((now - Date.parse(it.started_at)) / 1000));
}

/** What the present run has cost until now, or null if none is open. */
export function costSoFar(
  it: Pick<Instance, "state" | "started_at" | "price_per_hour">,
  now: number,
): Amount | null {
  const seconds = runningSeconds(it, now);
  return seconds === null ? null : costOf(it.price_per_hour, seconds);
}
