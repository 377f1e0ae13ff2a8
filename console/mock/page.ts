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
