import { catalogueHandlers } from "./handlers/catalogue.ts";
import { instanceHandlers } from "./handlers/instances.ts";
import { keyHandlers } from "./handlers/keys.ts";
import { meHandlers } from "./handlers/me.ts";
import { membersHandlers } from "./handlers/members.ts";
import { sessions } from "./handlers/sessions.ts";
import { storageHandlers } from "./handlers/storages.ts";
import type { notMocked } from "./not-mocked.ts";
import type { operations } from "./operations.ts";
import type { Handler, OperationName } from "./types.ts";

export type Mocked = Exclude<OperationName, (typeof notMocked)[number]>;
export type Handlers = { [Name in Mocked]: Handler<(typeof operations)[Name]> };

export const handlers: Handlers = {
  ...sessions,
  ...meHandlers,
  ...membersHandlers,
  ...keyHandlers,
  ...catalogueHandlers,
  ...storageHandlers,
  ...instanceHandlers,
};

/** Needs no sign-in. */
export const forEveryone = new Set<Mocked>([
  "createSession",
  "createPasskeySession",
  "createPasskeyChallenge",
  "listSignInProviders",
]);

/** A page as the API cuts it: 50 if no limit is given. */
export function pageOf<Item>(items: readonly Item[], query: { limit?: number; cursor?: string } | undefined) {
  const from = Number(query?.cursor?.slice(1) ?? 0);
  const to = from + (query?.limit ?? 50);
  return { items: items.slice(from, to), next_cursor: to < items.length ? `c${to}` : null, unreadable: [] };
}

/** One page with everything. */
export const page = <Item>(items: readonly Item[]) => ({
  items: [...items],
  next_cursor: null,
  unreadable: [],
});
