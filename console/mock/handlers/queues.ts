import type { DeadMessage, MqCredential, RefusalCode } from "../../src/api/generated/types";
import type { Backend } from "../backend.ts";
import { makeSortedId } from "../ids.ts";
import { pageOf } from "../page.ts";
import { credentialOf } from "../queue-seed.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal, Reply } from "../types.ts";
import { needsRole } from "./webhooks.ts";

const MOST = 20;
/** So much of a message is kept. */
const KEPT = 65_536;

const own = <Item extends { tenant_id: unknown }>({ caller }: Context, items: readonly Item[]) =>
  items.filter((it) => it.tenant_id === caller.session.tenant_id);

const shown = ({ tenant_id: _, ...it }: Backend["mqCredentials"][number]): MqCredential => it;
const shownDead = ({ tenant_id: _, ...it }: Backend["dead"][number]): DeadMessage => it;

/** What makes no difference when it is taken in again. */
const lasting = new Set<RefusalCode>([
  "malformed",
  "unauthenticated",
  "unknown-method",
  "task-type-mismatch",
  "invalid-parameters",
  "req-no-reused",
  "too-large",
  "deadline-passed",
  "unknown-routing-key",
]);

export const queueHandlers = {
  listMqCredentials: (context) =>
    pageOf(own(context, context.backend.mqCredentials).map(shown), context.query),
  createMqCredential: (context) => {
    const { backend, caller, body } = context;
    needsRole(context, "member");
    const { tenant_id } = caller.session;
    if (!tenant_id) throw new Refusal("forbidden");
    if (own(context, backend.mqCredentials).length >= MOST)
      throw new Refusal("too-many-mq-credentials", { members: { limit: MOST } });
    const made = credentialOf(tenant_id, ++backend.next, now(), {
      name: body.name,
      created_by: caller.user.id,
    });
    backend.mqCredentials.push(made);
    const secret = "amq_5f0c9a3e7d1b4c8f2a6e0d9b7c5f3a1e8d6c4b2a0f9e7d5c3b1a8f6e4d2c0b9a";
    return new Reply({ ...shown(made), secret }, 201);
  },
  takeOverMqCredential: (context) => {
    const { backend, caller, path } = context;
    needsRole(context, "owner");
    const it = own(context, backend.mqCredentials).find((one) => one.id === path.id);
    if (!it) throw new Refusal("not-found");
    it.created_by = caller.user.id;
    return shown(it);
  },
  deleteMqCredential: (context) => {
    needsRole(context, "member");
    const { backend, path } = context;
    backend.mqCredentials = backend.mqCredentials.filter((it) => it.id !== path.id);
  },
  listDeadMessages: (context) => pageOf(own(context, context.backend.dead).map(shownDead), context.query),
  replayDeadMessage: (context) => {
    const { backend, path } = context;
    needsRole(context, "member");
    const it = own(context, backend.dead).find((one) => one.id === path.id);
    if (!it) throw new Refusal("not-found");
    if (it.bytes > KEPT)
      throw new Refusal("invalid-field", {
        errors: [{ pointer: "/id", detail: "only 64 KiB of the message are kept" }],
      });
    const wasTaken = it.replayed_at !== null && !lasting.has(it.code);
    it.replayed_at = now();
    if (wasTaken) return { outcome: "duplicate", code: null };
    if (!lasting.has(it.code)) return { outcome: "accepted", code: null };
    const again = { ...it, id: makeSortedId<DeadMessage["id"]>("dead", now(), ++backend.next) };
    backend.dead.unshift({ ...again, created_at: now(), replayed_at: null });
    return { outcome: "refused", code: it.code };
  },
} satisfies Partial<Handlers>;
