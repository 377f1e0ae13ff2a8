import { QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";
import type { Storage } from "@/api/generated/types";
import { dropStorage, keys, knownStorages, newestPage, putStorage } from "./cache";

const make = (id: string, updated_at: string, more: Partial<Storage> = {}) =>
  ({ id, updated_at, state: "available", ...more }) as Storage;

const page = (...items: Storage[]) => ({ items, next_cursor: null, unreadable: [], total: null });

function known(...items: Storage[]) {
  const client = new QueryClient();
  client.setQueryData(keys.page({}), { pages: [page(...items)], pageParams: [null] }, { updatedAt: 1000 });
  client.setQueryData(keys.all, items, { updatedAt: 1000 });
  return client;
}

const states = (client: QueryClient) => knownStorages(client).map((it) => `${it.id} ${it.state}`);

test("news is shown in every list, older news never wins", () => {
  const client = known(make("stor_1", "2026-11-27T12:00:00Z"), make("stor_2", "2026-11-27T12:00:00Z"));
  putStorage(client, make("stor_1", "2026-11-27T12:00:05Z", { state: "resizing" }));
  putStorage(client, make("stor_1", "2026-11-27T12:00:03Z", { state: "failed" }));
  expect(states(client)).toEqual(["stor_1 resizing", "stor_2 available"]);
  expect(client.getQueryData<Storage[]>(keys.all)?.[0]?.state).toBe("resizing");
});

test("a list stays as old as it was, so that what it lacks is read", async () => {
  const client = known(make("stor_3", "2026-11-27T12:00:00Z"));
  await client.invalidateQueries({ queryKey: keys.lists });
  putStorage(client, make("stor_4", "2026-11-27T12:00:05Z"));
  expect(client.getQueryState(keys.page({}))?.isInvalidated).toBe(true);
  putStorage(client, make("stor_3", "2026-11-27T12:00:05Z"));
  expect(client.getQueryState(keys.page({}))?.dataUpdatedAt).toBe(1000);
});

test("what was deleted is not brought back by an answer that was on its way", () => {
  const client = known(make("stor_5", "2026-11-27T12:00:00Z"));
  dropStorage(client, make("stor_5", "").id);
  expect(states(client)).toEqual([]);
  const late = make("stor_5", "2026-11-27T12:00:09Z");
  expect(newestPage(client, page(late)).items).toEqual([]);
  putStorage(client, late);
  expect(states(client)).toEqual([]);
});
