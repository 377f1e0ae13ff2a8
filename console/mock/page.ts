/** One page with everything. */
export const page = <Item>(items: readonly Item[]) => ({
  items: [...items],
  next_cursor: null,
  unreadable: [],
});

/** A page as the API cuts it: 50 if no limit is given. */
export function pageOf<Item>(items: readonly Item[], query: { limit?: number; cursor?: string } | undefined) {
  const from = Number(query?.cursor?.slice(1) ?? 0);
  const to = from + (query?.limit ?? 50);
  return { items: items.slice(from, to), next_cursor: to < items.length ? `c${to}` : null, unreadable: [] };
}

/** Values that are separated by commas; none if the parameter is absent. */
export const several = (value: unknown) => (value === undefined ? [] : String(value).split(","));

/** A page in an order of the API, with the total if it is asked for. What is equal is in the order of the ids. */
export function sortedPage<Item extends { id: string }>(
  items: readonly Item[],
  query: { sort?: string; include?: unknown; limit?: number; cursor?: string },
  keys: Record<string, (item: Item) => string | number>,
) {
  const sort = query.sort ?? "-created_at";
  const key = keys[sort.replace(/^-/, "")] ?? (() => 0);
  const compare = (a: string | number, b: string | number) => (a < b ? -1 : a > b ? 1 : 0);
  const found = items.toSorted((a, b) => compare(key(a), key(b)) || compare(a.id, b.id));
  if (sort.startsWith("-")) found.reverse();
  const total = query.include ? { count: found.length, is_exact: true } : null;
  return { ...pageOf(found, query), total };
}
