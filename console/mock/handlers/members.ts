import type { TenantId } from "../../src/api/generated/types";
import { nextId } from "../ids.ts";
import { page } from "../page.ts";
import { daysAgo, now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal, Reply } from "../types.ts";
import { roleIn } from "./sessions.ts";

const membersOf = ({ backend }: Context, tenant: TenantId) => {
  const members = backend.members.get(tenant);
  if (!members) throw new Refusal("not-found");
  return members;
};

/** Administrators of the platform may do what owners may. */
function asOwner({ backend, caller }: Context, tenant: TenantId) {
  if (!caller.user.admin && roleIn(backend, tenant, caller.user.id) !== "owner")
    throw new Refusal("forbidden");
}

function keepsOwner(context: Context, tenant: TenantId, user: string) {
  const owners = membersOf(context, tenant).filter((it) => it.role === "owner");
  if (owners.length === 1 && owners[0]?.user_id === user) throw new Refusal("last-owner");
}

export const membersHandlers = {
  listMembers: (context) => page(membersOf(context, context.path.id)),
  updateMember: (context) => {
    const { path, body } = context;
    asOwner(context, path.id);
    const member = membersOf(context, path.id).find((it) => it.user_id === path.user_id);
    if (!member) throw new Refusal("not-found");
    if (body.role !== "owner") keepsOwner(context, path.id, path.user_id);
    Object.assign(member, { role: body.role, updated_at: now() });
    return member;
  },
  removeMember: (context) => {
    const { path, backend, caller } = context;
    if (path.user_id !== caller.user.id) asOwner(context, path.id);
    keepsOwner(context, path.id, path.user_id);
    backend.members.set(
      path.id,
      membersOf(context, path.id).filter((it) => it.user_id !== path.user_id),
    );
    for (const session of backend.sessions)
      if (session.user_id === path.user_id && session.tenant_id === path.id) session.tenant_id = null;
    for (const stream of [...backend.streams]) if (stream.user_id === path.user_id) stream.end();
  },
  listInvitations: (context) => {
    asOwner(context, context.path.id);
    return page(
      context.backend.invitations
        .filter((it) => it.tenant_id === context.path.id)
        .map(({ tenant_id: _, ...invitation }) => invitation),
    );
  },
  createInvitation: (context) => {
    const { backend, path, body, caller } = context;
    asOwner(context, path.id);
    if (membersOf(context, path.id).some((it) => it.email === body.email))
      throw new Refusal("already-a-member");
    if (!/^\S+@\S+\.\S+$/.test(body.email))
      throw new Refusal("invalid-field", {
        errors: [{ pointer: "/email", detail: "This is not an e-mail address." }],
      });
    const invitation = {
      id: nextId<(typeof backend.invitations)[number]["id"]>(backend, "inv"),
      email: body.email,
      role: body.role,
      invited_by: caller.user.id,
      created_at: now(),
      expires_at: daysAgo(-14),
    };
    backend.invitations.push({ ...invitation, tenant_id: path.id });
    return new Reply(invitation, 201);
  },
  withdrawInvitation: ({ backend, path }) => {
    backend.invitations = backend.invitations.filter((it) => it.id !== path.invitation_id);
  },
} satisfies Partial<Handlers>;
