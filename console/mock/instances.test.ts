import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { CountedPageInstance, Instance, NewInstance } from "../src/api/generated/types";
import { SESSION_COOKIE } from "./handlers/sessions.ts";
import { MockServer } from "./server.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function signedIn() {
  const server = new MockServer();
  const jar = new Map<string, string>();
  const send = async (method: string, path: string, body?: unknown) => {
    const url = new URL(path, "http://localhost");
    return server.handle({
      method,
      path: url.pathname,
      query: url.searchParams,
      headers: new Headers({ accept: "application/json", "idempotency-key": crypto.randomUUID() }),
      body,
      cookies: jar,
    });
  };
  const first = server.backend("").sessions[0];
  if (first) jar.set(SESSION_COOKIE, first.secret);
  return { server, send };
}

const order: NewInstance = { gpu_spec: "4090-small-4-1", service: "comfyui", name: "tests" };

test("a start goes through its phases and tells what happened", async () => {
  const { server, send } = signedIn();
  const { id } = (await send("POST", "/v1/instances", order)).body as Instance;
  const seen: string[] = [];
  for (let i = 0; i < 60; i++) {
    const it = (await send("GET", `/v1/instances/${id}`)).body as Instance;
    const state = `${it.state} ${it.reason}`;
    if (seen.at(-1) !== state) seen.push(state);
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(seen).toEqual(["pending null", "starting waiting_for_place", "starting starting", "running null"]);
  const events = server.backend("").events.filter((it) => it.instance_id === id);
  expect(events.map((it) => it.type)).toEqual([
    "instance.created",
    "instance.unit_claimed",
    "instance.started",
  ]);
});

test("without room it fails with alternatives, or waits", async () => {
  const { send } = signedIn();
  const full = { ...order, gpu_spec: "a100-small-4-1" };
  const failed = (await send("POST", "/v1/instances", full)).body as Instance;
  const waits = (await send("POST", "/v1/instances", { ...full, wait: true })).body as Instance;
  await vi.advanceTimersByTimeAsync(1000);
  expect((await send("GET", `/v1/instances/${failed.id}`)).body).toMatchObject({
    state: "stopped",
    reason: "stock_exhausted",
    alternatives: [{ gpu_spec: { name: "l40s-small-8-1" } }, {}, {}],
  });
  expect((await send("GET", `/v1/instances/${waits.id}`)).body).toMatchObject({
    state: "pending",
    reason: "queued",
    queue: { position: 4 },
  });
});

test("pages follow each other without a gap, and filters are as in the API", async () => {
  const { send } = signedIn();
  const names: string[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const page = (await send("GET", `/v1/instances?limit=5${cursor && `&cursor=${cursor}`}`))
      .body as CountedPageInstance;
    names.push(...page.items.map((it) => it.name));
    cursor = page.next_cursor;
  }
  expect(new Set(names).size).toBe(12);
  const running = (await send("GET", "/v1/instances?state=running,pending&name=GROUNDS&include=total"))
    .body as CountedPageInstance;
  expect(running.items.map((it) => it.name)).toEqual(["backgrounds-act-2"]);
  expect(running.total).toEqual({ count: 1, is_exact: true });
});
