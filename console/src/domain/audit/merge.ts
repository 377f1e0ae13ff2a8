import { compareTimes } from "@/lib/time";

/** What was read of one of several logs, newest first. */
export interface Source<Item> {
  key: string;
  items: readonly Item[];
  /** Whether older ones are not read yet. */
  hasMore: boolean;
}

export interface Merged<Item> {
  items: { source: string; item: Item }[];
  /** Sources of which more must be read before older entries can be shown. */
  waiting: string[];
}

/**
 * Joins logs by time, newest first. What a source may still have between two entries is not known, so nothing is shown
 * that is older than the oldest entry read of a source that has more.
 */
export function merge<Item extends { at: string }>(sources: readonly Source<Item>[]): Merged<Item> {
  const ends = sources.filter((it) => it.hasMore).map((it) => it.items.at(-1)?.at);
  // a source with more, of which nothing is read, hides all
  const isBlind = ends.some((at) => at === undefined);
  const from = ends
    .filter((at) => at !== undefined)
    .reduce<string | null>((latest, at) => (latest && compareTimes(latest, at) > 0 ? latest : at), null);
  const items = isBlind
    ? []
    : sources
        .flatMap(({ key, items }) => items.map((item) => ({ source: key, item })))
        .filter(({ item }) => from === null || compareTimes(item.at, from) >= 0)
        .sort((a, b) => compareTimes(b.item.at, a.item.at));
  const waiting = sources
    .filter(({ items, hasMore }) => {
      const end = items.at(-1)?.at;
      return hasMore && (end === undefined || from === null || compareTimes(end, from) >= 0);
    })
    .map((it) => it.key);
  return { items, waiting };
}
