import type { Session, User } from "../src/api/generated/types";

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
