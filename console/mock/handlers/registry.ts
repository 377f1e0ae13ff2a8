import type { RegistryCredential } from "../../src/api/generated/types";
import { nextId } from "../ids.ts";
import { pageOf } from "../page.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal, Reply } from "../types.ts";
import { asMember } from "./as-member.ts";

const MOST = 50;

const own = ({ backend, caller }: Context) =>
  backend.registryCredentials.filter((it) => it.tenant_id === caller.session.tenant_id);

export const registryHandlers = {
  listRegistryCredentials: (context) =>
    pageOf(
      own(context).map(({ tenant_id: _, ...it }) => it),
      context.query,
    ),
  createRegistryCredential: (context) => {
    asMember(context);
    const { backend, body, caller } = context;
    const errors = [
      !body.name.trim() && { pointer: "/name", detail: "must be 1 to 100 characters" },
      !/^[a-z0-9.-]+(:\d+)?$/.test(body.registry) && {
        pointer: "/registry",
        detail: "must be a host, with its port if it has one",
      },
      (!body.username || body.username.includes(":")) && {
        pointer: "/username",
        detail: "must be 1 to 255 characters, without colon and control characters",
      },
      !body.secret && { pointer: "/secret", detail: "must be 1 to 8192 bytes, without NUL" },
    ].filter((it) => it !== false);
    if (errors.length > 0) throw new Refusal("invalid-field", { errors });
    if (own(context).some((it) => it.name === body.name)) throw new Refusal("registry-credential-exists");
    if (own(context).length >= MOST)
      throw new Refusal("too-many-registry-credentials", { members: { limit: MOST } });
    const made: RegistryCredential = {
      id: nextId(backend, "rcred"),
      name: body.name,
      registry: body.registry,
      username: body.username,
      created_by: caller.user.id,
      created_by_key: null,
      created_at: now(),
    };
    backend.registryCredentials.unshift({ ...made, tenant_id: caller.session.tenant_id as never });
    return new Reply(made, 201);
  },
  deleteRegistryCredential: (context) => {
    asMember(context);
    if (!own(context).some((it) => it.id === context.path.id)) throw new Refusal("not-found");
    context.backend.registryCredentials = context.backend.registryCredentials.filter(
      (it) => it.id !== context.path.id,
    );
  },
} satisfies Partial<Handlers>;
