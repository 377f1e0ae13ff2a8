import { QueryClient } from "@tanstack/react-query";
import { beforeEach, expect, test } from "vitest";
import type { Instance, InstanceId } from "@/api/generated/types";
import {
  dropInstance,
  expectInstance,
  type InstanceFilter,
  keys,
  knownInstance,
  newestPage,
  putInstance,
} from "./cache";

let client: QueryClient;
let n = 0;

beforeEach(() => {
  client = new QueryClient();
  n += 100;
});

const make = (id: number, more: Partial<Instance> = {}) =>
  ({
    id: `inst_${String(n + id).padStart(4, "0")}` as InstanceId,
    name: `sheet-${id}`,
    state: "running",
    updated_at: "2026-11-27T12:00:00.000001Z",
    ...more,
  }) as Instance;

const show = (filter: InstanceFilter, items: Instance[], next_cursor: string | null = null) =>
  client.setQueryData(keys.list(filter), {
    pages: [{ items, next_cursor, unreadable: [], total: null }],
    pageParams: [null],
  });

const shown = (filter: InstanceFilter = {}) =>
  (client.getQueryData<{ pages: { items: Instance[] }[] }>(keys.list(filter))?.pages ?? []).flatMap((it) =>
    it.items.map(({ name, state }) => `${name} ${state}`),
  );

test("older news never wins, to the microsecond", () => {
  show({}, [make(1)]);
  putInstance(client, make(1, { state: "stopping", updated_at: "2026-11-27T12:00:00.000003Z" }));
  putInstance(client, make(1, { state: "starting", updated_at: "2026-11-27T12:00:00.000002Z" }));
  expect(shown()).toEqual(["sheet-1 stopping"]);
});

test("news of the same age wins: what an instance waits for changes without a change of it", () => {
  show({}, [make(1, { message: "40 %" })]);
  putInstance(client, make(1, { message: "60 %" }));
  expect(knownInstance(client, make(1).id)?.message).toBe("60 %");
});

test("the answer of a list that was asked for before is not newer than what came since", () => {
  show({}, [make(1)]);
  putInstance(client, make(1, { state: "stopped", updated_at: "2026-11-27T12:00:01Z" }));
  const page = newestPage(client, { items: [make(1)], next_cursor: null, unreadable: [], total: null });
  expect(page.items[0]?.state).toBe("stopped");
});

test("a new one takes its place in the lists that it belongs to, newest first", () => {
  show({}, [make(3), make(1)]);
  show({ states: ["stopped"] }, []);
  show({ name: "SHEET" }, [make(3)], "c1");
  putInstance(client, make(2));
  expect(shown()).toEqual(["sheet-3 running", "sheet-2 running", "sheet-1 running"]);
  expect(shown({ states: ["stopped"] })).toEqual([]);
  // it may be on a page that was not read yet
  expect(shown({ name: "SHEET" })).toEqual(["sheet-3 running"]);
});

test("one that stopped matching the filter stays until the list is read again", () => {
  show({ states: ["running"] }, [make(1)]);
  putInstance(client, make(1, { state: "stopped", updated_at: "2026-11-27T12:00:01Z" }));
  expect(shown({ states: ["running"] })).toEqual(["sheet-1 stopped"]);
});

test("what a press expects is shown at once, is not undone by what was read before, and ends with the answer", () => {
  show({}, [make(1)]);
  const press = expectInstance(client, make(1).id, { state: "stopping" });
  putInstance(client, make(1, { message: "read before the press" }));
  expect(shown()).toEqual(["sheet-1 stopping"]);
  press.settle(make(1, { state: "stopping", reason: "stopping", updated_at: "2026-11-27T12:00:01Z" }));
  expect(knownInstance(client, make(1).id)?.reason).toBe("stopping");
});

test("a refusal puts back what was, unless something newer has come meanwhile", () => {
  show({}, [make(1), make(0)]);
  expectInstance(client, make(1).id, { state: "stopping" }).undo();
  const press = expectInstance(client, make(0).id, { state: "stopping" });
  putInstance(client, make(0, { state: "stopped", updated_at: "2026-11-27T12:00:01Z" }));
  press.undo();
  expect(shown()).toEqual(["sheet-1 running", "sheet-0 stopped"]);
});

test("what is deleted does not come back with an answer that was on its way", () => {
  show({}, [make(1)]);
  dropInstance(client, make(1).id);
  putInstance(client, make(1, { updated_at: "2026-11-27T12:00:01Z" }));
  expect(shown()).toEqual([]);
  expect(
    newestPage(client, { items: [make(1)], next_cursor: null, unreadable: [], total: null }).items,
  ).toEqual([]);
});
