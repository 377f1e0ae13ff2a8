import type { Me } from "../../src/api/generated/types";
import { nextId } from "../ids.ts";
import { page } from "../page.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal, Reply } from "../types.ts";
import { membershipsOf, roleIn } from "./sessions.ts";

const accountOf = ({ backend, caller }: Context) => {
  const account = backend.accounts.find((it) => it.user.id === caller.user.id);
  if (!account) throw new Refusal("unauthenticated");
  return account;
};

const etag = (updated: string) => ({ etag: `"${Date.parse(updated)}"` });

function checkCode(context: Context, code: string) {
  const { totp } = accountOf(context);
  if (code !== "123456" && !totp?.codes.includes(code))
    throw new Refusal("invalid-field", { errors: [{ pointer: "/code", detail: "The code is wrong." }] });
}

const mine = (context: Context) => {
  const { backend, caller } = context;
  const me: Me = {
    user: caller.user,
    language: accountOf(context).language,
    tenant_id: caller.session.tenant_id,
    role: roleIn(backend, caller.session.tenant_id, caller.user.id),
    memberships: membershipsOf(backend, caller.user.id),
  };
  return new Reply(me, 200, etag(caller.user.updated_at));
};

export const meHandlers = {
  getMe: mine,
  updateMe: (context) => {
    const account = accountOf(context);
    const { display_name, language } = context.body;
    if (display_name) account.user.display_name = display_name;
    if (language) account.language = language;
    account.user.updated_at = now();
    for (const member of [...context.backend.members.values()].flat())
      if (member.user_id === account.user.id) member.display_name = account.user.display_name;
    return mine(context);
  },
  changePassword: (context) => {
    const account = accountOf(context);
    const { body, backend, caller } = context;
    if (body.current_password !== account.password) throw new Refusal("wrong-credentials");
    account.password = body.new_password;
    backend.sessions = backend.sessions.filter(
      (it) => it.user_id !== account.user.id || it.id === caller.session.id,
    );
  },
  listReceivedInvitations: ({ backend, caller }) =>
    page(
      backend.invitations
        .filter((it) => it.email === caller.user.email)
        .map((it) => ({
          id: it.id,
          tenant: (({ id, name }) => ({ id, name }))(
            backend.tenants.find((tenant) => tenant.id === it.tenant_id) ?? { id: it.tenant_id, name: "?" },
          ),
          role: it.role,
          invited_by:
            backend.accounts.find((account) => account.user.id === it.invited_by)?.user.email ?? "?",
          created_at: it.created_at,
          expires_at: it.expires_at,
        })),
    ),
  acceptInvitation: ({ backend, caller, path }) => {
    const invitation = backend.invitations.find((it) => it.id === path.id);
    const tenant = backend.tenants.find((it) => it.id === invitation?.tenant_id);
    if (!invitation || !tenant) throw new Refusal("not-found");
    backend.members.get(tenant.id)?.push({
      user_id: caller.user.id,
      email: caller.user.email,
      display_name: caller.user.display_name,
      role: invitation.role,
      created_at: now(),
      updated_at: now(),
    });
    backend.invitations = backend.invitations.filter((it) => it !== invitation);
    return { tenant: { id: tenant.id, name: tenant.name }, state: tenant.state, role: invitation.role };
  },
  declineInvitation: ({ backend, path }) => {
    backend.invitations = backend.invitations.filter((it) => it.id !== path.id);
  },
  listLinkedAccounts: (context) => page(accountOf(context).linked),
  startAccountLink: (context) => {
    accountOf(context).linked.push({
      id: nextId(context.backend, "acct"),
      provider: context.body.provider,
      issuer: "https://login.northlight.example",
      subject: context.caller.user.email,
      created_at: now(),
      last_used_at: now(),
    });
    return { url: context.body.return_to ?? "/" };
  },
  deleteLinkedAccount: (context) => {
    const account = accountOf(context);
    account.linked = account.linked.filter((it) => it.id !== context.path.id);
  },
  getTotp: (context) => {
    const { totp } = accountOf(context);
    return {
      enabled: Boolean(totp?.enabled_at),
      enabled_at: totp?.enabled_at ?? null,
      recovery_codes_left: totp?.enabled_at ? totp.codes.length : 0,
    };
  },
  createTotp: (context) => {
    const account = accountOf(context);
    if (account.totp?.enabled_at) throw new Refusal("totp-enabled");
    account.totp = { enabled_at: null, secret: "JBSWY3DPEHPK3PXPKRSXG5A7", codes: [] };
    const { secret } = account.totp;
    const name = encodeURIComponent(account.user.email);
    return new Reply({ secret, url: `otpauth://totp/Atelier:${name}?secret=${secret}&issuer=Atelier` }, 201);
  },
  startTotp: (context) => {
    const account = accountOf(context);
    if (!account.totp) throw new Refusal("not-found");
    checkCode(context, context.body.code);
    account.totp.enabled_at = now();
    account.totp.codes = [
      "7h2k-9qpl",
      "m4dx-2wvt",
      "c8rn-5jye",
      "w3ba-8tzu",
      "k9fg-4msd",
      "q2yv-7hnc",
      "x6pe-3rkj",
      "b5tw-1lga",
      "n8zs-6dxf",
      "j4mh-0cvq",
    ];
    return { recovery_codes: account.totp.codes };
  },
  removeTotp: (context) => {
    checkCode(context, context.body.code);
    accountOf(context).totp = null;
  },
  listPasskeys: (context) => page(accountOf(context).passkeys),
  createPasskeyRegistration: ({ caller }) =>
    new Reply(
      {
        public_key: {
          challenge: "AAECAwQFBgcICQoLDA0ODw",
          rp: { name: "Atelier" },
          user: { id: "AQID", name: caller.user.email, displayName: caller.user.display_name },
          pubKeyCredParams: [
            { type: "public-key", alg: -7 },
            { type: "public-key", alg: -257 },
          ],
          timeout: 60_000,
          authenticatorSelection: { residentKey: "required", userVerification: "preferred" },
        },
        expires_at: now(),
      },
      201,
    ),
  createPasskey: (context) => {
    const passkey = {
      id: nextId<(typeof made)[number]["id"]>(context.backend, "pk"),
      name: context.body.name,
      created_at: now(),
      updated_at: now(),
      last_used_at: null,
    };
    const made = accountOf(context).passkeys;
    made.push(passkey);
    return new Reply(passkey, 201);
  },
  updatePasskey: (context) => {
    const passkey = accountOf(context).passkeys.find((it) => it.id === context.path.id);
    if (!passkey) throw new Refusal("not-found");
    Object.assign(passkey, { name: context.body.name, updated_at: now() });
    return new Reply(passkey, 200, etag(passkey.updated_at));
  },
  deletePasskey: (context) => {
    const account = accountOf(context);
    account.passkeys = account.passkeys.filter((it) => it.id !== context.path.id);
  },
} satisfies Partial<Handlers>;
