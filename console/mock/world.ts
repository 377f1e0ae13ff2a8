import type {
  ApiKey,
  Invitation,
  Language,
  LinkedAccount,
  Member,
  Passkey,
  Session,
  SignInProvider,
  Tenant,
  TenantId,
  User,
  UserId,
} from "../src/api/generated/types";
import type { ProblemSlug } from "../src/api/problem";
import type { OperationName } from "./types.ts";

export interface Account {
  user: User;
  password: string;
  totp: { enabled_at: string | null; secret: string; codes: string[] } | null;
  passkeys: Passkey[];
  linked: LinkedAccount[];
  /** Failed attempts since the last sign-in. */
  failures: number;
  language: Language | null;
}

export interface Stream {
  user_id: UserId;
  send: (text: string) => void;
  end: () => void;
}

export interface Provocation {
  operation: OperationName;
  /** A refusal; without, only the delay. */
  slug?: ProblemSlug;
  retryAfter?: number;
  /** Milliseconds before the answer. */
  delay?: number;
  /** How often (default once). */
  times?: number;
}

/** All that the stand-in knows. One per test, so that they do not disturb each other. */
export interface World {
  accounts: Account[];
  tenants: Tenant[];
  members: Map<TenantId, Member[]>;
  invitations: (Invitation & { tenant_id: TenantId })[];
  sessions: (Session & { user_id: UserId; secret: string })[];
  keys: ApiKey[];
  providers: SignInProvider[];
  provoked: Provocation[];
  /** Answers by Idempotency-Key. */
  answered: Map<string, unknown>;
  /** Open event streams. */
  streams: Set<Stream>;
  next: number;
}

/** Ids look as real ones do, and are the same at each start. */
export const makeId = <Id extends string>(prefix: string, n: number) =>
  `${prefix}_01939f0a7c3d7e6b8a1f${(n * 2654435761).toString(16).slice(-12).padStart(12, "0")}` as unknown as Id;

export const nextId = <Id extends string>(world: World, prefix: string) => makeId<Id>(prefix, ++world.next);

const DAY = 86_400_000;
export const daysAgo = (days: number) => new Date(Date.now() - days * DAY).toISOString();
export const now = () => new Date().toISOString();
