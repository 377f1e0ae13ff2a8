import { nextId } from "../ids.ts";
import { page } from "../page.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { Refusal, Reply } from "../types.ts";

export const keyHandlers = {
  listApiKeys: ({ backend, caller }) =>
    page(
      backend.keys.filter((it) => it.user_id === caller.user.id && it.tenant_id === caller.session.tenant_id),
    ),
  createApiKey: ({ backend, caller, body }) => {
    if (backend.keys.some((it) => it.name === body.name && it.user_id === caller.user.id))
      throw new Refusal("name-taken");
    const key = {
      id: nextId<(typeof backend.keys)[number]["id"]>(backend, "akey"),
      name: body.name,
      user_id: caller.user.id,
      tenant_id: caller.session.tenant_id,
      created_by_key: null,
      scopes: body.scopes,
      requests_per_second: body.requests_per_second ?? null,
      hint: "atl_4kTm",
      secret: null,
      created_at: now(),
      expires_at: body.expires_at ?? null,
      last_used_at: null,
      last_used_from: null,
    };
    backend.keys.unshift(key);
    return new Reply({ ...key, secret: "atl_4kTmQ8sVw2HnZr6XbLc1YdPe5GfJu7Ma0ZBq3xK" }, 201);
  },
  deleteApiKey: ({ backend, path }) => {
    backend.keys = backend.keys.filter((it) => it.id !== path.id);
  },
} satisfies Partial<Handlers>;
