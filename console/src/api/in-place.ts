import type { ListTotal } from "./generated/types";

interface Listed<Item> {
  items: Item[];
  next_cursor: string | null;
  total: ListTotal | null;
}

interface Pages<Item> {
  pages: Listed<Item>[];
}

export type Compare<Item> = (a: Item, b: Item) => number;

/** The list with a new item in its place. It stays as it is if that may be on a page that was not read yet. */
export function withNew<Item, Data extends Pages<Item>>(data: Data, it: Item, compare: Compare<Item>): Data {
  const at = data.pages.findIndex(
    ({ next_cursor, items }) => next_cursor === null || items.some((other) => compare(it, other) < 0),
  );
  if (at < 0) return data;
  const pages = data.pages.map((page, index) => {
    if (index !== at) return page;
    const place = page.items.findIndex((other) => compare(it, other) < 0);
    return { ...page, items: page.items.toSpliced(place < 0 ? page.items.length : place, 0, it) };
  });
  return counted({ ...data, pages }, 1);
}

/** The list without an item that it has. */
export function without<Item, Data extends Pages<Item>>(data: Data, is: (item: Item) => boolean): Data {
  const pages = data.pages.map((page) => ({ ...page, items: page.items.filter((it) => !is(it)) }));
  return counted({ ...data, pages }, -1);
}

/** The total is told by the first page. */
function counted<Item, Data extends Pages<Item>>(data: Data, change: 1 | -1): Data {
  const pages = data.pages.map((page) =>
    page.total?.is_exact ? { ...page, total: { ...page.total, count: page.total.count + change } } : page,
  );
  return { ...data, pages };
}

/** By the id, which sorts by creation. */
export const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

/** The order of a parameter `sort`: from the end with `-`, and what is equal by the id. */
export const sorted =
  <Item extends { id: string }>(sort: string, compare: Compare<Item>): Compare<Item> =>
  (a, b) =>
    (compare(a, b) || byId(a, b)) * (sort.startsWith("-") ? -1 : 1);
