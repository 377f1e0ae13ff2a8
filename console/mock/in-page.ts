import { environment } from "../src/api/client";
import { SESSION_COOKIE } from "./handlers/sessions.ts";
import { MockServer } from "./server.ts";
import type { MockReply } from "./types.ts";

/** Cookies of a page without a server: scripts cannot set the real one. */
function keepCookie(jar: Map<string, string>, header: string | undefined) {
  const [name, value] = header?.split(";")[0]?.split("=") ?? [];
  if (!name) return;
  if (value) jar.set(name, value);
  else jar.delete(name);
}

function asResponse({ status, headers, body, stream }: MockReply, signal: AbortSignal | null | undefined) {
  if (!stream) return new Response(body === undefined ? null : JSON.stringify(body), { status, headers });
  const text = new ReadableStream<Uint8Array>({
    start: (controller) => {
      const encoder = new TextEncoder();
      stream((piece) => controller.enqueue(encoder.encode(piece)), signal ?? new AbortController().signal);
      signal?.addEventListener("abort", () => controller.error(signal.reason));
    },
  });
  return new Response(text, { status, headers });
}

/** A `fetch` that the stand-in answers. */
export function mockFetch(server = new MockServer(), jar = new Map<string, string>()): typeof fetch {
  return async (input, init) => {
    const url = new URL(String(input), "http://localhost");
    const reply = await server.handle({
      method: init?.method ?? "GET",
      path: url.pathname,
      query: url.searchParams,
      headers: new Headers(init?.headers),
      body: typeof init?.body === "string" ? JSON.parse(init.body) : undefined,
      cookies: jar,
    });
    keepCookie(jar, reply.headers["set-cookie"]);
    return asResponse(reply, init?.signal);
  };
}

/** For the demo: a person of the studio is signed in from the start. */
export function answerInPage() {
  const server = new MockServer();
  const jar = new Map<string, string>();
  const world = server.world("");
  world.providers = [];
  const first = world.sessions[0];
  if (first && sessionStorage.getItem("signed-out") === null) jar.set(SESSION_COOKIE, first.secret);
  environment.fetch = mockFetch(server, jar);
}
