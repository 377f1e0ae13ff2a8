import type { AuditEntry } from "@/api/generated/types";

export const sources = ["people", "instances", "storages", "jobs"] as const;
export type Source = (typeof sources)[number];
export type Entry = AuditEntry & { source: Source };

/** What is read of a log and not shown yet, and where its next page begins; null at its end. */
export interface Rest {
  entries: readonly AuditEntry[];
  cursor: string | null;
}
export type Rests = Partial<Record<Source, Rest>>;

/** The newest of all logs, as far as none has to be read further; what is left for the next page. */
export function takeNewest(rests: Rests, most: number): { items: Entry[]; rests: Rests } {
  const left = new Map<Source, { entries: AuditEntry[]; cursor: string | null }>();
  for (const source of sources) {
    const rest = rests[source];
    if (rest) left.set(source, { entries: [...rest.entries], cursor: rest.cursor });
  }
  const items: Entry[] = [];
  while (items.length < most) {
    if ([...left.values()].some((it) => it.entries.length === 0 && it.cursor !== null)) break;
    let newest: { source: Source; entry: AuditEntry } | null = null;
    for (const [source, { entries }] of left) {
      const [entry] = entries;
      if (entry && (!newest || Date.parse(entry.at) > Date.parse(newest.entry.at)))
        newest = { source, entry };
    }
    if (!newest) break;
    items.push({ ...newest.entry, source: newest.source });
    left.get(newest.source)?.entries.shift();
  }
  return { items, rests: Object.fromEntries(left) };
}

/** Logs that have to be read before the next entry is known. */
export const emptyOf = (rests: Rests): Source[] =>
  sources.filter((source) => rests[source]?.entries.length === 0 && rests[source]?.cursor !== null);

export const isEnd = (rests: Rests) =>
  sources.every(
    (source) => !rests[source] || (rests[source].entries.length === 0 && rests[source].cursor === null),
  );
