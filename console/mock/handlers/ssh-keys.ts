import type { NewSshKey, SshKey } from "../../src/api/generated/types";
import { pageOf } from "../page.ts";
import { sshKey } from "../storages-seed.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal, Reply } from "../types.ts";

/** A key as it is asked for, or the refusal that names the field. */
export function newSshKey({ backend, caller, body }: Context & { body: NewSshKey }): SshKey {
  const public_key = body.public_key.trim();
  const [, text, comment] = /^((?:ssh-ed25519|ecdsa-sha2-\S+) \S{20,})(?: (.+))?$/.exec(public_key) ?? [];
  if (!text)
    throw new Refusal("invalid-field", {
      errors: [{ pointer: "/public_key", detail: "Not a public key in OpenSSH format: ed25519 or ecdsa." }],
    });
  const name = body.name?.trim() || comment || "key";
  return { ...sshKey(++backend.next, name, caller.user.id, null), public_key: text, created_at: now() };
}

const own = ({ backend, caller }: Context) =>
  backend.sshKeys.filter((it) => it.created_by === caller.user.id);

export const sshKeyHandlers = {
  listSshKeys: (context) => pageOf(own(context), context.query),
  createSshKey: (context) => {
    const key = newSshKey(context);
    if (own(context).some((it) => it.public_key === key.public_key)) throw new Refusal("ssh-key-exists");
    context.backend.sshKeys.unshift(key);
    return new Reply(key, 201);
  },
  deleteSshKey: (context) => {
    if (!own(context).some((it) => it.id === context.path.id)) throw new Refusal("not-found");
    context.backend.sshKeys = context.backend.sshKeys.filter((it) => it.id !== context.path.id);
  },
} satisfies Partial<Handlers>;
