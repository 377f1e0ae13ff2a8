import { infiniteQueryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import {
  listAuditEntries,
  listInstanceAuditEntries,
  listJobAuditEntries,
  listStorageAuditEntries,
} from "@/api/generated/operations";
import { type Entry, emptyOf, isEnd, type Rests, type Source, sources, takeNewest } from "./merge";

const PAGE = 50;

const lists = {
  people: listAuditEntries,
  instances: listInstanceAuditEntries,
  storages: listStorageAuditEntries,
  jobs: listJobAuditEntries,
} as const;

/** A log from its beginning: nothing of it is read. */
const fresh = { entries: [], cursor: "" };

async function read(rests: Rests, signal: AbortSignal): Promise<{ items: Entry[]; rests: Rests }> {
  const items: Entry[] = [];
  let left = rests;
  while (items.length < PAGE && !isEnd(left)) {
    const pages = emptyOf(left).map(async (source) => {
      const cursor = left[source]?.cursor;
      const query = { limit: PAGE, ...(cursor && { cursor }) };
      const page = await call(lists[source], { query }, { signal });
      return [source, { entries: page.items, cursor: page.next_cursor }] as const;
    });
    const taken = takeNewest(
      { ...left, ...Object.fromEntries(await Promise.all(pages)) },
      PAGE - items.length,
    );
    items.push(...taken.items);
    left = taken.rests;
  }
  return { items, rests: left };
}

/** Who did what, the newest first: of one log, or of all of them in the order of time. */
export const activity = (area: Source | undefined) =>
  infiniteQueryOptions({
    queryKey: ["activity", area ?? "all"],
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: Object.fromEntries(
      sources.filter((it) => !area || it === area).map((it) => [it, fresh]),
    ) as Rests,
    getNextPageParam: (page) => (isEnd(page.rests) ? undefined : page.rests),
  });
