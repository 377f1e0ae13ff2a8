import { type Context, Refusal } from "../types.ts";
import { roleIn } from "./sessions.ts";

/** Refuses those who may only look. */
export function asMember({ backend, caller }: Context) {
  const role = roleIn(backend, caller.session.tenant_id, caller.user.id);
  if (role !== "member" && role !== "owner") throw new Refusal("forbidden");
}
