import { JSON_ANSWERS, takeEarly } from "./early";
import type { Operation } from "./operation";
import { type Parts, pathOf } from "./path";
import { type ApiError, NetworkError, problemOf } from "./problem";

export interface CallOptions {
  signal?: AbortSignal;
  /** Throws a 401 instead of asking the person to sign in again. */
  anonymous?: boolean;
  /** Idempotency-Key of a write; the same for each repetition of one press. */
  key?: string;
}

type Rest<Request> =
  Record<never, never> extends Request
    ? [request?: Request, options?: CallOptions]
    : [request: Request, options?: CallOptions];

/** Longest `Retry-After` that is waited for without telling the person, in seconds. */
const PATIENCE = 5;
const TRIES = 3;

const etags = new Map<string, string>();

export interface Environment {
  fetch: typeof fetch;
  /** Resolves when the person has signed in again, so that the request is repeated; rejects when they will not. */
  signInAgain: (why: "session-ended" | "recent-sign-in-required") => Promise<void>;
  wait: (seconds: number, signal?: AbortSignal) => Promise<void>;
}

/** Replaced by tests, and by the demo, which has no server. */
export const environment: Environment = {
  fetch: (input, init) => globalThis.fetch(input, init),
  signInAgain: () => Promise.reject(new Error("nobody asks for a sign-in")),
  wait: (seconds, signal) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, seconds * 1000);
      signal?.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    }),
};

function headersOf(method: string, read: string, parts: Parts, key: string): Headers {
  const headers = new Headers({ accept: JSON_ANSWERS });
  if (parts.body !== undefined) headers.set("content-type", "application/json");
  if (method !== "GET") headers.set("idempotency-key", key);
  const etag = etags.get(read);
  if ((method === "PATCH" || method === "PUT") && etag) headers.set("if-match", etag);
  for (const [name, value] of Object.entries(parts.headers ?? {})) if (value) headers.set(name, value);
  return headers;
}

async function refused(error: ApiError, options: CallOptions, attempt: number): Promise<void> {
  if (attempt >= TRIES) throw error;
  if (!options.anonymous && error.is("unauthenticated", "session-ended"))
    return environment.signInAgain("session-ended");
  if (!options.anonymous && error.is("recent-sign-in-required"))
    return environment.signInAgain("recent-sign-in-required");
  const isBusy = error.status === 429 || error.status === 503;
  if (!isBusy || error.is("too-many-attempts")) throw error;
  const seconds = error.retryAfter ?? 1;
  if (seconds > PATIENCE) throw error;
  return environment.wait(seconds, options.signal);
}

/** Sends a request with the conventions of the API. See console/README.md, "Requests". */
export async function call<Request, Answer>(
  operation: Operation<Request, Answer>,
  ...[request, options = {}]: Rest<Request>
): Promise<Answer> {
  const parts = (request ?? {}) as Parts;
  const url = pathOf(operation.path, parts);
  // a write may have a query, such as a reason, that the read at the same path has not
  const read = pathOf(operation.path, { path: parts.path ?? {} });
  const { signal } = options;
  const key = options.key ?? crypto.randomUUID();
  for (let attempt = 1; ; attempt++) {
    const early = operation.method === "GET" ? takeEarly(url) : undefined;
    const response = await (
      early ??
      environment.fetch(url, {
        method: operation.method,
        headers: headersOf(operation.method, read, parts, key),
        credentials: "same-origin",
        ...(parts.body !== undefined && { body: JSON.stringify(parts.body) }),
        ...(signal && { signal }),
      })
    ).catch((cause: unknown) => {
      if (signal?.aborted) throw cause;
      throw new NetworkError(cause);
    });
    if (!response.ok) {
      await refused(await problemOf(response), options, attempt);
      continue;
    }
    const etag = response.headers.get("etag");
    if (etag) etags.set(url, etag);
    if (response.status === 204) return undefined as Answer;
    return (await response.json()) as Answer;
  }
}

/** So long is a body that is read at a glance. */
const ONE_LINE = 56;

/** JSON in one line, or what is too long for it with a line for each of its parts. */
function written(value: unknown, before = "  "): string {
  const line = JSON.stringify(value);
  if (typeof value !== "object" || value === null || before.length + line.length <= ONE_LINE) return line;
  const within = `${before}  `;
  const parts = Array.isArray(value)
    ? value.map((it) => written(it, within))
    : Object.entries(value)
        .filter(([, it]) => it !== undefined)
        .map(([name, it]) => `${JSON.stringify(name)}: ${written(it, within)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${within}${parts.join(`,\n${within}`)}\n${before}${close}`;
}

/** The request as a command for a terminal, with a placeholder for the API key. */
export function asCurl<Request, Answer>(operation: Operation<Request, Answer>, request?: Request): string {
  const parts = (request ?? {}) as Parts;
  const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  const lines = [
    `curl ${operation.method === "GET" ? "" : `-X ${operation.method} `}${quote(location.origin + pathOf(operation.path, parts))}`,
    `-H "Authorization: Bearer $ATELIER_API_KEY"`,
  ];
  if (operation.method !== "GET") lines.push(`-H "Idempotency-Key: $(uuidgen)"`);
  if (operation.method === "PUT" || operation.method === "PATCH") lines.push(`-H 'If-Match: *'`);
  if (parts.body !== undefined)
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quote(written(parts.body))}`);
  return lines.join(" \\\n  ");
}
