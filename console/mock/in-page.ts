import { environment } from "../src/api/client";
import { objectStore } from "../src/api/put";
import { membershipsOf, SESSION_COOKIE } from "./handlers/sessions.ts";
import type { MockReply } from "./http.ts";
import { MockServer } from "./server.ts";

/** Cookies of a page without a server: scripts cannot set the real one. */
function keepCookie(jar: Map<string, string>, header: string | undefined) {
  const [name, value] = header?.split(";")[0]?.split("=") ?? [];
  if (!name) return;
  if (value) jar.set(name, value);
  else jar.delete(name);
}

function asResponse(
  { status, headers, body, bytes, stream }: MockReply,
  signal: AbortSignal | null | undefined,
) {
  if (bytes) return new Response(bytes as Uint8Array<ArrayBuffer>, { status, headers });
  if (!stream) return new Response(body === undefined ? null : JSON.stringify(body), { status, headers });
  const pieces = new ReadableStream<Uint8Array>({
    start: (controller) => {
      const encoder = new TextEncoder();
      const line = {
        send: (piece: string) => controller.enqueue(encoder.encode(piece)),
        end: () => controller.close(),
      };
      stream(line, signal ?? new AbortController().signal);
      signal?.addEventListener("abort", () => controller.error(signal.reason));
    },
  });
  return new Response(pieces, { status, headers });
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

const PERSON = "demo-person";

/** For the demo. Who is signed in outlives the page, as with a real cookie; all else begins anew. */
export function answerInPage() {
  const server = new MockServer();
  const backend = server.backend("");
  // no provider answers without a server
  backend.providers = [];
  const person = sessionStorage.getItem(PERSON) ?? backend.accounts[0]?.user.id;
  const jar = new Map<string, string>();
  const session = backend.sessions[0];
  const account = backend.accounts.find((it) => it.user.id === person);
  if (session && account) {
    const tenant = membershipsOf(backend, account.user.id)[0]?.tenant.id ?? null;
    Object.assign(session, { user_id: account.user.id, tenant_id: tenant });
    jar.set(SESSION_COOKIE, session.secret);
  }
  const answer = mockFetch(server, jar);
  environment.fetch = async (input, init) => {
    const response = await answer(input, init);
    const current = backend.sessions.find((it) => it.secret === jar.get(SESSION_COOKIE));
    sessionStorage.setItem(PERSON, current?.user_id ?? "");
    return response;
  };
  objectStore.put = async (url, file, { onProgress }) => {
    onProgress(file.size);
    const headers = { "content-type": file.type, "content-length": String(file.size) };
    return (await answer(url, { method: "PUT", headers })).status;
  };
}
