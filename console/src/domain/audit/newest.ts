import { infiniteQueryOptions, type QueryKey } from "@tanstack/react-query";
import { call } from "@/api/client";
import type { AuditEntry, PageAuditEntry, TenantId } from "@/api/generated/types";
import type { Operation } from "@/api/operation";
import { compareTimes } from "@/lib/time";

const PAGE = 50;

export interface AuditFilter {
  tenant_id?: TenantId;
  by?: "person" | "service";
}

/** Lists the entries of one log, newest first. */
export type AuditList = Operation<
  { query?: AuditFilter & { limit?: number; cursor?: string } },
  PageAuditEntry
>;

export type LogEntry<Log extends string> = AuditEntry & { log: Log };

/** What is read of a log and not shown yet, and where its next page begins: null at its end, empty at its beginning. */
export interface Rest {
  entries: readonly AuditEntry[];
  cursor: string | null;
}
export type Rests<Log extends string> = ReadonlyMap<Log, Rest>;

/** The newest entries of all logs, as far as none has to be read further; what is left for the next page. */
export function takeNewest<Log extends string>(rests: Rests<Log>, most: number) {
  const left = new Map(
    [...rests].map(([log, { entries, cursor }]) => [log, { entries: [...entries], cursor }]),
  );
  const items: LogEntry<Log>[] = [];
  while (items.length < most && toRead(left).length === 0) {
    let newest: LogEntry<Log> | null = null;
    for (const [log, { entries }] of left) {
      const [entry] = entries;
      if (entry && (!newest || compareTimes(entry.at, newest.at) > 0)) newest = { ...entry, log };
    }
    if (!newest) break;
    items.push(newest);
    left.get(newest.log)?.entries.shift();
  }
  return { items, rests: left as Rests<Log> };
}

/** Logs that have to be read before the next entry is known. */
export const toRead = <Log extends string>(rests: Rests<Log>): Log[] =>
  [...rests].filter(([, it]) => it.entries.length === 0 && it.cursor !== null).map(([log]) => log);

export const isEnd = <Log extends string>(rests: Rests<Log>) =>
  [...rests.values()].every((it) => it.entries.length === 0 && it.cursor === null);

/** Who did what in these logs, the newest first. A page reads on only where something is missing. */
export const auditPages = <Log extends string>(
  key: QueryKey,
  lists: Partial<Record<Log, AuditList>>,
  filter: AuditFilter,
) => {
  const logs = Object.keys(lists) as Log[];
  const readOn = async (log: Log, cursor: string | null | undefined, signal: AbortSignal) => {
    const list = lists[log];
    if (!list) throw new Error(`no list of ${log}`);
    const query = { limit: PAGE, ...filter, ...(cursor && { cursor }) };
    const page = await call(list, { query }, { signal });
    return [log, { entries: page.items, cursor: page.next_cursor }] as const;
  };
  return infiniteQueryOptions({
    queryKey: key,
    queryFn: async ({ pageParam, signal }) => {
      const items: LogEntry<Log>[] = [];
      let left = pageParam;
      while (items.length < PAGE && !isEnd(left)) {
        const read = toRead(left).map((log) => readOn(log, left.get(log)?.cursor, signal));
        const taken = takeNewest(new Map([...left, ...(await Promise.all(read))]), PAGE - items.length);
        items.push(...taken.items);
        left = taken.rests;
      }
      return { items, rests: left };
    },
    initialPageParam: new Map(logs.map((log) => [log, { entries: [], cursor: "" }])) as Rests<Log>,
    getNextPageParam: (page) => (isEnd(page.rests) ? undefined : page.rests),
  });
};
