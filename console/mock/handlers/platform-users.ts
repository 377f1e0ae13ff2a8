import type { UserId } from "../../src/api/generated/types";
import { asAdmin, changing, tagged, wrong } from "../admin.ts";
import { makeSortedId } from "../ids.ts";
import { page, pageOf } from "../page.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal, Reply } from "../types.ts";
import { membershipsOf } from "./sessions.ts";

function accountOf(context: Context, id: UserId) {
  asAdmin(context);
  const account = context.backend.accounts.find((it) => it.user.id === id);
  if (!account) throw new Refusal("not-found");
  return account;
}

function adminRemains({ backend }: Context, id: UserId) {
  if (!backend.accounts.some(({ user }) => user.admin && !user.disabled && user.id !== id))
    throw new Refusal("last-administrator");
}

const checkPassword = (password: string) => {
  if (password.length < 8) throw wrong("password", "must have at least 8 characters");
};

function endSessions({ backend }: Context, id: UserId) {
  backend.sessions = backend.sessions.filter((it) => it.user_id !== id);
}

export const platformUserHandlers = {
  listUsers: (context) => {
    asAdmin(context);
    const { backend, query } = context;
    const prefix = String(query.email_prefix ?? "").toLowerCase();
    const users = backend.accounts.map((it) => it.user).filter((it) => it.email.startsWith(prefix));
    return pageOf(
      users.sort((a, b) => a.created_at.localeCompare(b.created_at)),
      query,
    );
  },
  getUser: (context) => tagged(context, accountOf(context, context.path.id).user),
  createUser: (context) => {
    asAdmin(context);
    const { backend, body } = context;
    const email = body.email.toLowerCase();
    if (!/^\S+@\S+\.\S+$/.test(email)) throw wrong("email", "This is not an e-mail address.");
    checkPassword(body.password);
    if (backend.accounts.some(({ user }) => user.email === email)) throw new Refusal("email-taken");
    const user = {
      id: makeSortedId<UserId>("usr", now(), ++backend.next),
      email,
      display_name: body.display_name || email.replace(/@.*/, ""),
      admin: body.admin ?? false,
      disabled: false,
      created_at: now(),
      updated_at: now(),
    };
    backend.accounts.push({
      user,
      password: body.password,
      totp: null,
      passkeys: [],
      linked: [],
      failures: 0,
      language: null,
    });
    return new Reply(user, 201);
  },
  updateUser: (context) => {
    const { body, path } = context;
    const account = accountOf(context, path.id);
    const { user } = account;
    if ((body.admin === false && user.admin) || (body.disabled && user.admin)) adminRemains(context, user.id);
    if (body.password) checkPassword(body.password);
    changing(context);
    if (body.password) account.password = body.password;
    Object.assign(user, {
      display_name: body.display_name ?? user.display_name,
      admin: body.admin ?? user.admin,
      disabled: body.disabled ?? user.disabled,
      updated_at: now(),
    });
    if (body.disabled || body.password) endSessions(context, user.id);
    return tagged(context, user);
  },
  deleteUser: (context) => {
    const { backend, path } = context;
    const { user } = accountOf(context, path.id);
    if (user.admin) adminRemains(context, user.id);
    for (const members of backend.members.values()) {
      const owners = members.filter((it) => it.role === "owner");
      if (owners.length === 1 && owners[0]?.user_id === user.id) throw new Refusal("last-owner");
    }
    for (const [id, members] of backend.members)
      backend.members.set(
        id,
        members.filter((it) => it.user_id !== user.id),
      );
    backend.accounts = backend.accounts.filter((it) => it.user !== user);
    endSessions(context, user.id);
  },
  resetTotp: (context) => {
    accountOf(context, context.path.id).totp = null;
  },
  resetPasskeys: (context) => {
    accountOf(context, context.path.id).passkeys = [];
  },
  listUserMemberships: (context) => {
    const { user } = accountOf(context, context.path.id);
    return page(membershipsOf(context.backend, user.id));
  },
} satisfies Partial<Handlers>;
