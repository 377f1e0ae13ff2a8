import type { Operation } from "../src/api/operation";
import type { ProblemSlug } from "../src/api/problem";
import type { Backend } from "./backend.ts";
import type { Caller, MockRequest } from "./http.ts";
import type { notMocked } from "./not-mocked.ts";
import type { OperationName, operations } from "./operations.ts";

export interface Context {
  backend: Backend;
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

/** Operations that the stand-in carries out. */
export type Mocked = Exclude<OperationName, (typeof notMocked)[number]>;
export type Handlers = { [Name in Mocked]: Handler<(typeof operations)[Name]> };
