import type { Session, User } from "../src/api/generated/types";
import type { Operation } from "../src/api/operation";
import type { ProblemSlug } from "../src/api/problem";
import type { operations } from "./operations.ts";
import type { World } from "./world.ts";

export interface MockRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Headers;
  body: unknown;
  cookies: Map<string, string>;
}

export interface MockReply {
  status: number;
  headers: Record<string, string>;
  /** JSON, unless it is a stream. */
  body?: unknown;
  /** A file. */
  bytes?: Uint8Array;
  /** Server-sent events, until the signal, or until the server ends them. */
  stream?: (line: { send: (text: string) => void; end: () => void }, signal: AbortSignal) => void;
}

/** Who asks. Handlers of operations that need no sign-in find null. */
export interface Caller {
  user: User;
  session: Session;
}

export interface Context {
  world: World;
  /** Throws `unauthenticated` without a session. */
  caller: Caller;
  request: MockRequest;
}

/** An answer with more than a body. */
export class Reply<Answer> {
  readonly body: Answer;
  readonly status: number;
  readonly headers: Record<string, string>;
  constructor(body: Answer, status = 200, headers: Record<string, string> = {}) {
    this.body = body;
    this.status = status;
    this.headers = headers;
  }
}

/** A refusal, thrown by handlers. */
export class Refusal extends Error {
  readonly slug: ProblemSlug;
  readonly more: {
    detail?: string;
    errors?: { pointer: string; detail: string }[];
    retryAfter?: number;
    /** Further members of the problem. */
    members?: Record<string, unknown>;
  };
  constructor(slug: ProblemSlug, more: Refusal["more"] = {}) {
    super(slug);
    this.slug = slug;
    this.more = more;
  }
}

type Filled<Request> = (Request extends { path: infer P } ? { path: P } : unknown) &
  (Request extends { query?: infer Q } ? { query: NonNullable<Q> } : unknown) &
  ("body" extends keyof Request ? Pick<Request, "body"> : unknown);

export type Handler<O> =
  O extends Operation<infer Request, infer Answer>
    ? (context: Context & Filled<Request>) => Answer | Reply<Answer>
    : never;

export type OperationName = {
  // logs and files are no JSON, and have no answer
  [Name in keyof typeof operations]: "answer" extends keyof (typeof operations)[Name] ? Name : never;
}[keyof typeof operations];
