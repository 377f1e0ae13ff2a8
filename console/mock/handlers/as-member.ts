import { type Context, Refusal } from "../types.ts";
import { roleIn } from "./sessions.ts";

/** Refuses those who may only look. */
export function asMember({ world, caller }: Context) {
  const role = roleIn(world, caller.session.tenant_id, caller.user.id);
  if (role !== "member" && role !== "owner") throw new Refusal("forbidden");
}
