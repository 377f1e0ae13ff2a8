/** Does it for each, so many at a time. `act` must not throw. */
export async function pooled<Item>(
  items: readonly Item[],
  together: number,
  act: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await act(item);
  };
  await Promise.all(Array.from({ length: together }, worker));
}
