/** Whether the text is in the id, the name or the node. The API does not search, so this is about what was read. */
export function matches(
  it: { id: string; name: string; node?: string | null; datacenter: string | null },
  text: string,
): boolean {
  const asked = text.trim().toLowerCase();
  return [it.id, it.name, it.node, it.datacenter].some((one) => one?.toLowerCase().includes(asked));
}
