import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { type Plugin, runnerImport } from "vite";
import type { MockReply } from "./http.ts";

/** What the object store would get. */
const isFile = ({ url }: IncomingMessage) => url?.startsWith("/mock/objects/");

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  if (isFile(request)) return undefined;
  const text = Buffer.concat(pieces).toString();
  return text ? JSON.parse(text) : undefined;
}

const cookiesOf = (header = "") =>
  new Map(header.split(";").map((pair) => pair.trim().split("=", 2) as [string, string]));

function write(response: ServerResponse, { status, headers, body, bytes, stream }: MockReply) {
  response.writeHead(status, headers);
  if (!stream) {
    response.end(bytes ?? (body === undefined ? undefined : JSON.stringify(body)));
    return;
  }
  const end = new AbortController();
  response.on("close", () => end.abort());
  stream({ send: (text) => response.write(text), end: () => response.end() }, end.signal);
}

const load = async <Module>(file: string) =>
  (await runnerImport<Module>(fileURLToPath(new URL(file, import.meta.url)))).module;

async function middleware(http: Server | null) {
  const { MockServer } = await load<typeof import("./server.ts")>("./server.ts");
  const { openTerminal } = await load<typeof import("./terminal.ts")>("./terminal.ts");
  const server = new MockServer();
  http?.on("upgrade", (request, stream) => {
    if (/^\/v1\/instances\/[^/]+\/terminal/.test(request.url ?? ""))
      openTerminal((name) => server.backend(name), request, stream);
  });
  return async (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    if (!/^\/(v1|mock)\//.test(url.pathname)) return next();
    try {
      write(
        response,
        await server.handle({
          method: request.method ?? "GET",
          path: url.pathname,
          query: url.searchParams,
          headers: new Headers(request.headers as Record<string, string>),
          body: await bodyOf(request),
          cookies: cookiesOf(request.headers.cookie),
        }),
      );
    } catch (error) {
      next(error);
    }
  };
}

/** The stand-in of the API in the development and preview servers. */
export const mockApi = (): Plugin => ({
  name: "mock-api",
  configureServer: async ({ middlewares, httpServer }) =>
    void middlewares.use(await middleware(httpServer as Server | null)),
  configurePreviewServer: async ({ middlewares, httpServer }) =>
    void middlewares.use(await middleware(httpServer as Server)),
});
