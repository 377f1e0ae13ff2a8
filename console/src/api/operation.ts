// What the generated constants of `generated/operations.ts` are made of.

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** An operation with JSON bodies. The types of its request and answer exist for the compiler only. */
export interface Operation<Request, Answer> {
  readonly method: Method;
  readonly path: string;
  readonly request?: Request;
  readonly answer?: Answer;
}

/** A stream of server-sent events. */
export interface Stream<Request, Event> {
  readonly method: Method;
  readonly path: string;
  readonly request?: Request;
  readonly event?: Event;
}

/** An operation whose answer is text, a file, or a redirect to one. */
export interface Raw<Request> {
  readonly method: Method;
  readonly path: string;
  readonly request?: Request;
}

export const operation = <Request, Answer>(method: Method, path: string): Operation<Request, Answer> => ({
  method,
  path,
});

export const stream = <Request, Event>(method: Method, path: string): Stream<Request, Event> => ({
  method,
  path,
});

export const raw = <Request>(method: Method, path: string): Raw<Request> => ({ method, path });
