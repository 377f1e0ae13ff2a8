import type { Credentials, Role, SessionTokens, TenantId } from "../../src/api/generated/types";
import type { Account, Backend } from "../backend.ts";
import { nextId } from "../ids.ts";
import { page } from "../page.ts";
import { daysAgo, now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal, Reply } from "../types.ts";

export const SESSION_COOKIE = "__Host-atelier_session";

export const roleIn = (backend: Backend, tenant: TenantId | null, user: string): Role | null =>
  (tenant && backend.members.get(tenant)?.find((it) => it.user_id === user)?.role) || null;

export const membershipsOf = (backend: Backend, user: string) =>
  backend.tenants.flatMap(({ id, name, state }) => {
    const role = roleIn(backend, id, user);
    return role ? [{ tenant: { id, name }, state, role }] : [];
  });

function open({ backend, request }: Context, account: Account, wanted: TenantId | null | undefined) {
  const first = membershipsOf(backend, account.user.id).find((it) => it.state === "active");
  const tenant = wanted ?? first?.tenant.id ?? null;
  if (wanted && !roleIn(backend, wanted, account.user.id)) throw new Refusal("not-a-member");
  const secret = crypto.randomUUID();
  backend.sessions.push({
    id: nextId(backend, "ses"),
    user_id: account.user.id,
    secret,
    current: false,
    cookie: true,
    tenant_id: tenant,
    user_agent: request.headers.get("user-agent"),
    address: "203.0.113.24",
    created_at: now(),
    last_used_at: now(),
    expires_at: daysAgo(-30),
  });
  account.failures = 0;
  const known = backend.tenants.find((it) => it.id === tenant);
  const tokens: SessionTokens = {
    access_token: null,
    token_type: "Bearer",
    expires_in: 600,
    refresh_token: null,
    session_expires_at: daysAgo(-30),
    user: account.user,
    tenant: known ? { id: known.id, name: known.name } : null,
    role: roleIn(backend, tenant, account.user.id),
  };
  return new Reply(tokens, 200, {
    "set-cookie": `${SESSION_COOKIE}=${secret}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=2592000`,
  });
}

/** Wrong passwords lock after five, for 20 seconds. */
const LOCK_AFTER = 5;

function proved(account: Account | undefined, body: Credentials): asserts account is Account {
  if (!account || account.password !== body.password) {
    if (account && ++account.failures >= LOCK_AFTER) {
      account.failures = 0;
      throw new Refusal("too-many-attempts", { retryAfter: 20 });
    }
    throw new Refusal("wrong-credentials");
  }
  if (account.user.disabled) throw new Refusal("user-disabled");
  if (!account.totp?.enabled_at || body.passkey) return;
  if (!body.totp) throw new Refusal("second-factor-required");
  if (body.totp !== "123456" && !account.totp.codes.includes(body.totp))
    throw new Refusal("wrong-credentials");
}

export const sessions = {
  createSession: (context) => {
    const { backend, body } = context;
    const account = backend.accounts.find((it) => it.user.email === body.email.toLowerCase());
    proved(account, body);
    return open(context, account, body.tenant_id);
  },
  createPasskeySession: (context) => {
    const account = context.backend.accounts.find((it) => it.passkeys.length > 0);
    if (!account) throw new Refusal("passkey-refused");
    return open(context, account, context.body.tenant_id);
  },
  createPasskeyChallenge: () => ({
    public_key: { challenge: "AAECAwQFBgcICQoLDA0ODw", userVerification: "preferred", timeout: 60_000 },
    expires_at: daysAgo(-0.003),
  }),
  listSignInProviders: ({ backend }) => ({ items: backend.providers }),
  listSessions: ({ backend, caller }) =>
    page(
      backend.sessions
        .filter((it) => it.user_id === caller.user.id)
        .map(({ user_id: _, secret: __, ...it }) => ({ ...it, current: it.id === caller.session.id })),
    ),
  updateSession: ({ backend, caller, body }) => {
    const membership = membershipsOf(backend, caller.user.id).find((it) => it.tenant.id === body.tenant_id);
    if (!membership) throw new Refusal("not-a-member");
    if (membership.state !== "active") throw new Refusal("tenant-suspended");
    caller.session.tenant_id = body.tenant_id;
    return { tenant: membership.tenant, role: membership.role };
  },
  endSession: ({ backend, caller }) => {
    backend.sessions = backend.sessions.filter((it) => it.id !== caller.session.id);
    return new Reply<void>(undefined, 204, {
      "set-cookie": `${SESSION_COOKIE}=; Path=/; Secure; HttpOnly; Max-Age=0`,
    });
  },
  endSessionById: ({ backend, path }) => {
    backend.sessions = backend.sessions.filter((it) => it.id !== path.id);
  },
} satisfies Partial<Handlers>;
