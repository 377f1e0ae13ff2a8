// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from "vitest";
import { asCurl, call, environment } from "./client";
import { operation } from "./operation";
import { pathOf } from "./path";
import { ApiError, NetworkError } from "./problem";

const read = operation<{ path: { id: string }; query?: { state?: string[] } }, { name: string }>(
  "GET",
  "/v1/things/{id}",
);
const change = operation<
  { path: { id: string }; headers?: { "If-Match"?: string }; body: { name: string } },
  { name: string }
>("PATCH", "/v1/things/{id}");
const remove = operation<{ path: { id: string } }, void>("DELETE", "/v1/things/{id}");

const sent: { url: string; method: string; headers: Headers; body: unknown }[] = [];
let answers: Response[] = [];

const problem = (slug: string, status: number, headers: Record<string, string> = {}, more: object = {}) =>
  new Response(
    JSON.stringify({
      type: `https://atelier.dev/problems/${slug}`,
      title: slug,
      status,
      detail: `${slug}.`,
      ...more,
    }),
    { status, headers: { "content-type": "application/problem+json", "x-request-id": "r1", ...headers } },
  );

beforeEach(() => {
  sent.length = 0;
  environment.fetch = async (url, init) => {
    sent.push({
      url: String(url),
      method: init?.method ?? "GET",
      headers: new Headers(init?.headers),
      body: init?.body,
    });
    const answer = answers.shift();
    if (!answer) throw new TypeError("network");
    return answer;
  };
  environment.wait = vi.fn(async () => undefined);
  environment.signInAgain = vi.fn(async () => undefined);
});

test("paths and lists of the query are encoded, what is absent is left out", () => {
  expect(pathOf("/v1/things/{id}", { path: { id: "a/b" } })).toBe("/v1/things/a%2Fb");
  expect(
    pathOf("/v1/things", { query: { state: ["a", "b"], name: "", limit: undefined, fields: [], q: "x y" } }),
  ).toBe("/v1/things?state=a%2Cb&q=x+y");
});

test("a write has a key, a read has none", async () => {
  answers = [new Response(null, { status: 204 }), Response.json({ name: "a" })];
  await call(remove, { path: { id: "1" } });
  await call(read, { path: { id: "1" } });
  expect(sent[0]?.headers.get("idempotency-key")).toMatch(/^[0-9a-f-]{36}$/);
  expect(sent[1]?.headers.has("idempotency-key")).toBe(false);
});

test("a change sends the ETag that was read at its path", async () => {
  answers = [
    Response.json({ name: "a" }, { headers: { etag: '"7"' } }),
    Response.json({ name: "b" }, { headers: { etag: '"8"' } }),
    Response.json({ name: "c" }),
    Response.json({ name: "d" }),
  ];
  await call(read, { path: { id: "e" } });
  await call(change, { path: { id: "e" }, body: { name: "b" } });
  await call(change, { path: { id: "e" }, body: { name: "c" } });
  await call(change, { path: { id: "e" }, headers: { "If-Match": "*" }, body: { name: "d" } });
  expect(sent.map((it) => it.headers.get("if-match"))).toEqual([null, '"7"', '"8"', "*"]);
});

test("a refusal says what it is, at which fields, and the request's id", async () => {
  answers = [
    problem("invalid-field", 422, {}, { errors: [{ pointer: "/limits/cpu", detail: "Too many." }] }),
  ];
  const error = await call(remove, { path: { id: "1" } }).catch((it: unknown) => it);
  expect(error).toBeInstanceOf(ApiError);
  const refusal = error as ApiError;
  expect(refusal.is("invalid-field")).toBe(true);
  expect(refusal.fields).toEqual({ "limits.cpu": "Too many." });
  expect(refusal.requestId).toBe("r1");
});

test("an answer that is no problem is one all the same", async () => {
  answers = [new Response("<html>", { status: 502, statusText: "Bad Gateway" })];
  await expect(call(remove, { path: { id: "1" } })).rejects.toMatchObject({ message: "HTTP 502" });
});

test("no answer is a network error", async () => {
  answers = [];
  await expect(call(remove, { path: { id: "1" } })).rejects.toBeInstanceOf(NetworkError);
});

test("after a sign-in the press is repeated with the same key", async () => {
  answers = [problem("session-ended", 401), new Response(null, { status: 204 })];
  await call(remove, { path: { id: "1" } });
  expect(environment.signInAgain).toHaveBeenCalledExactlyOnceWith("session-ended");
  expect(sent[0]?.headers.get("idempotency-key")).toBe(sent[1]?.headers.get("idempotency-key"));
});

test("who does not sign in again gets the refusal of the dialog", async () => {
  environment.signInAgain = () => Promise.reject(new Error("closed"));
  answers = [problem("unauthenticated", 401)];
  await expect(call(remove, { path: { id: "1" } })).rejects.toThrow("closed");
});

test("a sign-in itself is not asked for another", async () => {
  answers = [problem("wrong-credentials", 401), problem("session-ended", 401)];
  await expect(call(remove, { path: { id: "1" } })).rejects.toThrow("wrong-credentials.");
  await expect(call(remove, { path: { id: "1" } }, { anonymous: true })).rejects.toThrow("session-ended.");
  expect(environment.signInAgain).not.toHaveBeenCalled();
});

test("a short Retry-After is waited for, a long one is told", async () => {
  answers = [
    problem("overloaded", 503, { "retry-after": "2" }),
    new Response(null, { status: 204 }),
    problem("too-many-requests", 429, { "retry-after": "60" }),
    problem("too-many-attempts", 429, { "retry-after": "1" }),
  ];
  await call(remove, { path: { id: "1" } });
  expect(environment.wait).toHaveBeenCalledExactlyOnceWith(2, undefined);
  await expect(call(remove, { path: { id: "1" } })).rejects.toMatchObject({ retryAfter: 60 });
  await expect(call(remove, { path: { id: "1" } })).rejects.toThrow("too-many-attempts.");
  expect(environment.wait).toHaveBeenCalledOnce();
});

test("it does not repeat for ever", async () => {
  answers = Array.from({ length: 9 }, () => problem("overloaded", 503, { "retry-after": "0" }));
  await expect(call(remove, { path: { id: "1" } })).rejects.toThrow("overloaded.");
  expect(sent).toHaveLength(3);
});

test("as curl: method, key and body, quoted for a shell", () => {
  const text = asCurl(change, { path: { id: "1" }, body: { name: "it's" } });
  expect(text).toContain("curl -X PATCH 'http://localhost:3000/v1/things/1'");
  expect(text).toContain(`-d '{"name":"it'\\''s"}'`);
  expect(text).toContain('-H "Authorization: Bearer $ATELIER_API_KEY"');
});

test("as curl: a long body in lines of its own", () => {
  const name = "a name that is rather long for one line of a terminal";
  expect(asCurl(change, { path: { id: "1" }, body: { name } })).toContain(
    `-d '{\n    "name": "${name}"\n  }'`,
  );
});
