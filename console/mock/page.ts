/** One page with everything. */
export const page = <Item>(items: readonly Item[]) => ({
  items: [...items],
  next_cursor: null,
  unreadable: [],
});
