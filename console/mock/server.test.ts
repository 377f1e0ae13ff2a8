// @vitest-environment node
import { expect, test } from "vitest";
import { mockFetch } from "./in-page.ts";
import { MockServer } from "./server.ts";

const start = () => mockFetch(new MockServer());
const post = (
  fetch: typeof globalThis.fetch,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
) => fetch(path, { method: "POST", body: JSON.stringify(body), headers });

const mira = { email: "mira@northlight.studio", password: "northlight", cookie: true };

test("a session begins with the password and ends with the sign-out", async () => {
  const fetch = start();
  expect((await fetch("/v1/me")).status).toBe(401);
  expect((await post(fetch, "/v1/sessions", { ...mira, password: "x" })).status).toBe(401);
  expect((await post(fetch, "/v1/sessions", mira)).status).toBe(200);
  const me = await (await fetch("/v1/me")).json();
  expect(me.user.display_name).toBe("Mira Okafor");
  expect((await fetch("/v1/sessions/current", { method: "DELETE" })).status).toBe(204);
  expect((await fetch("/v1/me")).status).toBe(401);
});

test("the same key gives the same answer, and does it once", async () => {
  const fetch = start();
  await post(fetch, "/v1/sessions", mira);
  const body = { name: "twice", scopes: ["usage:read"] };
  const ids = [];
  for (const _ of [1, 2])
    ids.push((await (await post(fetch, "/v1/api-keys", body, { "idempotency-key": "k" })).json()).id);
  expect(ids[0]).toBe(ids[1]);
  const { items } = await (await fetch("/v1/api-keys")).json();
  expect(items.filter((it: { name: string }) => it.name === "twice")).toHaveLength(1);
});

test("what is provoked happens as often as it is asked for", async () => {
  const fetch = start();
  await post(fetch, "/mock/provoke", {
    operation: "listSignInProviders",
    slug: "overloaded",
    retryAfter: 3,
    times: 2,
  });
  for (const status of [503, 503, 200]) {
    const answer = await fetch("/v1/sign-in-providers");
    expect(answer.status).toBe(status);
    if (status === 503) expect(answer.headers.get("retry-after")).toBe("3");
  }
});

test("a change needs If-Match", async () => {
  const fetch = start();
  await post(fetch, "/v1/sessions", mira);
  const change = (headers: Record<string, string>) =>
    fetch("/v1/me", { method: "PATCH", body: JSON.stringify({ display_name: "M" }), headers });
  expect((await change({})).status).toBe(428);
  expect((await change({ "if-match": "*" })).status).toBe(200);
});

test("an invitation makes a member of whom it was for", async () => {
  const fetch = start();
  await post(fetch, "/v1/sessions", { email: "lena@brandt.example", password: "northlight", cookie: true });
  const { items } = await (await fetch("/v1/me/invitations")).json();
  expect((await post(fetch, `/v1/me/invitations/${items[0].id}/accept`, {})).status).toBe(200);
  const me = await (await fetch("/v1/me")).json();
  expect(me.memberships[0].tenant.name).toBe("Vesper Films");
});
