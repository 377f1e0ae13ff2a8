import { etagOf, grow } from "./platform-data.ts";
import { now } from "./times.ts";
import { type Context, Refusal, Reply } from "./types.ts";

/** Refuses who is no administrator of the platform. */
export function asAdmin({ caller }: Context) {
  if (!caller.user.admin) throw new Refusal("forbidden");
}

export const wrong = (name: string, detail: string) =>
  new Refusal("invalid-field", { errors: [{ pointer: `/${name}`, detail }] });

/** What is read, with its ETag. */
export const tagged = <Body>({ backend, request }: Context, body: Body) =>
  new Reply(body, 200, { etag: etagOf(backend.platform, request.path) });

/** Refuses a change of a version that is not the newest, else makes the next one. */
export function changing({ backend, request }: Context) {
  const seen = request.headers.get("if-match");
  if (!seen) throw new Refusal("if-match-required");
  if (seen !== "*" && seen !== etagOf(backend.platform, request.path)) throw new Refusal("changed-meanwhile");
  grow(backend.platform, request.path);
}

/** The reason that each such action needs, recorded with who did it. */
export function reasonOf({ request }: Context): string {
  const reason = request.query.get("reason")?.trim() ?? "";
  if (reason.length === 0 || reason.length > 500) throw wrong("reason", "must have 1 to 500 characters");
  return reason;
}

export function recordAction(context: Context, target: string, action: string, tenant_id: Tenant) {
  const { actions } = context.backend.platform;
  actions.unshift({
    id: (actions[0]?.id ?? 0) + 1,
    tenant_id,
    target,
    action,
    reason: reasonOf(context),
    user_id: context.caller.user.id,
    at: now(),
  });
}

type Tenant = Context["backend"]["platform"]["actions"][number]["tenant_id"];
