import { followAllStream } from "../src/api/generated/operations";
import { problems } from "../src/api/generated/problems";
import { recordWrite } from "./audit.ts";
import type { Backend, Provocation } from "./backend.ts";
import { type Change, change } from "./change.ts";
import { keptOf } from "./handlers/instances.ts";
import { SESSION_COOKIE } from "./handlers/sessions.ts";
import { forEveryone, handlers } from "./handlers.ts";
import type { Caller, MockReply, MockRequest } from "./http.ts";
import { contentOf } from "./jobs/content.ts";
import { followLog } from "./log.ts";
import { answerFile } from "./objects.ts";
import { operations } from "./operations.ts";
import { makeBackend } from "./seed.ts";
import { follow } from "./stream.ts";
import type { Mocked } from "./types.ts";
import { type Context, Refusal, Reply } from "./types.ts";

interface Route {
  name: Mocked;
  method: string;
  pattern: RegExp;
  names: string[];
}

/** Paths without parameters first: `/v1/sessions/current` is no id. */
const routes: Route[] = (Object.keys(handlers) as Mocked[])
  .map((name) => ({ name, ...operations[name] }))
  .sort((a, b) => a.path.split("{").length - b.path.split("{").length)
  .map(({ name, method, path }) => ({
    name,
    method,
    names: [...path.matchAll(/\{(\w+)\}/g)].map((it) => it[1] ?? ""),
    pattern: new RegExp(`^${path.replace(/\{\w+\}/g, "([^/]+)")}$`),
  }));

export class MockServer {
  readonly #backends = new Map<string, Backend>();

  backend(name: string): Backend {
    let backend = this.#backends.get(name);
    if (!backend) {
      backend = makeBackend();
      this.#backends.set(name, backend);
    }
    return backend;
  }

  async handle(request: MockRequest): Promise<MockReply> {
    const backend = this.backend(request.cookies.get("backend") ?? "");
    const requestId = crypto.randomUUID().replaceAll("-", "");
    if (request.path === "/mock/provoke") {
      backend.provoked.push(request.body as Provocation);
      return { status: 204, headers: {} };
    }
    if (request.path === "/mock/cut") {
      for (const { end } of [...backend.streams]) end();
      for (const end of backend.logs) end();
      for (const line of backend.terminals) line.destroy();
      return { status: 200, headers: { "content-type": "application/json" }, body: backend.streams.size };
    }
    if (request.path === "/mock/streams")
      return { status: 200, headers: { "content-type": "application/json" }, body: backend.streams.size };
    if (request.path === "/mock/change") {
      change(backend, request.body as Change);
      return { status: 204, headers: {} };
    }
    try {
      const reply = await answer(backend, request);
      return { ...reply, headers: { ...reply.headers, "x-request-id": requestId } };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return refuse(error, requestId);
    }
  }
}

function refuse({ slug, more }: Refusal, requestId: string): MockReply {
  const { status, title } = problems[slug];
  return {
    status,
    headers: {
      "content-type": "application/problem+json",
      "x-request-id": requestId,
      ...(more.retryAfter !== undefined && { "retry-after": String(more.retryAfter) }),
    },
    body: {
      type: `https://atelier.dev/problems/${slug}`,
      title,
      status,
      detail: more.detail ?? `${title}.`,
      ...(more.errors && { errors: more.errors }),
      ...more.members,
    },
  };
}

function callerOf(backend: Backend, request: MockRequest): Caller | null {
  const session = backend.sessions.find((it) => it.secret === request.cookies.get(SESSION_COOKIE));
  const account = backend.accounts.find((it) => it.user.id === session?.user_id);
  return session && account && !account.user.disabled ? { user: account.user, session } : null;
}

async function provoked(backend: Backend, name: Provocation["operation"]) {
  const found = backend.provoked.find((it) => it.operation === name);
  if (!found) return;
  found.times = (found.times ?? 1) - 1;
  if (found.times <= 0) backend.provoked = backend.provoked.filter((it) => it !== found);
  if (found.delay) await new Promise((resolve) => setTimeout(resolve, found.delay));
  if (found.slug)
    throw new Refusal(found.slug, found.retryAfter === undefined ? {} : { retryAfter: found.retryAfter });
}

async function answer(backend: Backend, request: MockRequest): Promise<MockReply> {
  const caller = callerOf(backend, request);
  if (request.path === followAllStream.path) {
    if (!caller) throw new Refusal("unauthenticated");
    await provoked(backend, "followAll");
    return follow(backend, request, caller);
  }
  const file = answerFile(backend, request, caller);
  if (file) return file;
  const content = /^\/v1\/jobs\/([^/]+)\/artifacts\/([^/]+)\/content$/.exec(request.path);
  if (content) {
    if (!caller) throw new Refusal("unauthenticated");
    return contentOf(backend, caller, [content[1] ?? "", content[2] ?? ""]);
  }
  const log = /^\/v1\/instances\/([^/]+)\/log$/.exec(request.path);
  if (log) {
    if (!caller) throw new Refusal("unauthenticated");
    const context = { backend, request, caller };
    return followLog(backend, keptOf(context, log[1] ?? ""), request);
  }
  // what a WebSocket was refused with
  const terminal = /^\/v1\/instances\/([^/]+)\/terminal$/.exec(request.path);
  if (terminal) {
    if (!caller) throw new Refusal("unauthenticated");
    const { it } = keptOf({ backend, request, caller }, terminal[1] ?? "");
    if (it.state !== "running") throw new Refusal("instance-not-running");
    throw new Refusal(request.query.has("session") ? "terminal-session-ended" : "websocket-required");
  }
  const route = routes.find((it) => it.method === request.method && it.pattern.test(request.path));
  if (!route) throw new Refusal("no-such-route");
  await provoked(backend, route.name);
  if (!caller && !forEveryone.has(route.name)) throw new Refusal("unauthenticated");
  const site = request.headers.get("sec-fetch-site");
  if (site && site !== "same-origin") throw new Refusal("cross-origin");
  const key = request.headers.get("idempotency-key");
  if (key && backend.answered.has(key)) return backend.answered.get(key) as MockReply;
  if (request.method === "PATCH" && route.name !== "updateSession" && !request.headers.has("if-match"))
    throw new Refusal("if-match-required");
  const reply = run(backend, request, route, caller);
  if (key) backend.answered.set(key, reply);
  return reply;
}

const asValue = (text: string) => (/^\d+$/.test(text) ? Number(text) : text);

function run(backend: Backend, request: MockRequest, route: Route, caller: Caller | null): MockReply {
  const values = route.pattern.exec(request.path)?.slice(1).map(decodeURIComponent) ?? [];
  const context = {
    backend,
    request,
    caller,
    path: Object.fromEntries(route.names.map((name, i) => [name, values[i]])),
    query: Object.fromEntries([...request.query].map(([name, text]) => [name, asValue(text)])),
    body: request.body,
  };
  const handler = handlers[route.name] as (context: unknown) => unknown;
  const result = handler(context as unknown as Context);
  const reply = result instanceof Reply ? result : new Reply(result, result === undefined ? 204 : 200);
  recordWrite(backend.audit, request, operations[route.name].path, caller, reply);
  return {
    status: reply.status,
    headers: { "content-type": "application/json", ...reply.headers },
    // a copy: what was answered does not change afterwards
    ...(reply.body !== undefined && { body: structuredClone(reply.body) }),
  };
}
