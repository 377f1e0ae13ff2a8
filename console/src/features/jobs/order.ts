import type { Job, JobLevel, JobState } from "@/api/generated/types";

const states: Partial<Record<JobState, number>> = { running: 0, cancelling: 0, assigned: 1, queued: 2 };
const levels: Record<JobLevel, number> = { urgent: 0, ordinary: 1, background: 2 };

/** Those that run first; those that wait as the studio's own go: by level, priority, age. */
export function inOrder(items: readonly Job[]): Job[] {
  const compare = (a: Job, b: Job) => (a.id < b.id ? -1 : 1);
  return items.toSorted((a, b) => {
    const state = (states[a.state] ?? 3) - (states[b.state] ?? 3);
    if (state !== 0 || a.state !== "queued") return state || compare(a, b);
    return levels[a.level] - levels[b.level] || b.priority - a.priority || compare(a, b);
  });
}

/** What has ended since midnight, and what it cost by currency. */
export function endedSince(items: readonly Job[], midnight: number) {
  const ended = items.filter((it) => it.ended_at && Date.parse(it.ended_at) >= midnight);
  return { count: ended.length, costs: ended.flatMap((it) => it.cost ?? []) };
}
