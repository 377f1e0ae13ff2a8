import type { Webhook, WebhookDelivery } from "../../src/api/generated/types";
import type { Backend } from "../backend.ts";
import { makeSortedId } from "../ids.ts";
import { pageOf } from "../page.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal, Reply } from "../types.ts";
import { roleIn } from "./sessions.ts";

const MOST = 16;
/** How long an endpoint takes to answer. */
const ANSWERS_IN = 600;
const OVERLAP = 24 * 3_600_000;

const least = { viewer: 0, member: 1, owner: 2 };

/** Throws for those whose role is less. */
export function needsRole({ backend, caller }: Context, role: "member" | "owner") {
  const own = roleIn(backend, caller.session.tenant_id, caller.user.id);
  if (!own || least[own] < least[role]) throw new Refusal("forbidden");
}

const own = ({ backend, caller }: Context) =>
  backend.webhooks.filter((it) => it.tenant_id === caller.session.tenant_id);

function find(context: Context, id: string) {
  const found = own(context).find((it) => it.id === id);
  if (!found) throw new Refusal("not-found");
  return found;
}

const shown = ({ tenant_id: _, ...it }: Backend["webhooks"][number]): Webhook => it;

/** Grows with each change: the ETag. */
const tagOf = (it: Webhook) => `"${JSON.stringify([it.url, it.events, it.enabled]).length}-${it.created_by}"`;

const secretOf = (n: number) =>
  `whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaL${String(n).padStart(4, "0")}bQx7yTnHs2w=`;

const isPrivate = (host: string) =>
  /^(10|127|0)\.|^192\.168\.|^172\.(1[6-9]|2\d|3[01])\.|^169\.254\.|^\[/.test(host);

function check(text: string | null | undefined) {
  if (text == null) return;
  const wrong = (detail: string) => new Refusal("invalid-field", { errors: [{ pointer: "/url", detail }] });
  if (!URL.canParse(text)) throw wrong("must be a URL");
  const url = new URL(text);
  if (url.protocol !== "https:") throw wrong("must begin with https://");
  if (url.username || url.password) throw wrong("must not have a user name or password");
  if (isPrivate(url.hostname)) throw wrong("must not be a private address");
}

/** The endpoint answers, as its host does. */
function answer(backend: Backend, webhook: Webhook, delivery: WebhookDelivery) {
  const status = backend.endpoints[new URL(webhook.url).hostname] ?? 204;
  const isAccepted = status < 300;
  delivery.attempts.push({
    at: delivery.created_at,
    status,
    error: isAccepted ? null : "refused",
    retry_after_seconds: null,
    milliseconds: 143,
  });
  Object.assign(delivery, {
    state: isAccepted ? "delivered" : "failed",
    next_attempt_at: null,
    ended_at: now(),
  });
  if (isAccepted) Object.assign(webhook, { failing_since: null, last_success_at: now() });
  else webhook.failing_since ??= now();
}

export const webhookHandlers = {
  listWebhooks: (context) => pageOf(own(context).map(shown), context.query),
  getWebhook: (context) => {
    const it = find(context, context.path.id);
    return new Reply(shown(it), 200, { etag: tagOf(it) });
  },
  createWebhook: (context) => {
    const { backend, caller, body } = context;
    needsRole(context, "member");
    check(body.url);
    const { tenant_id } = caller.session;
    if (!tenant_id) throw new Refusal("forbidden");
    if (own(context).length >= MOST) throw new Refusal("too-many-webhooks", { members: { limit: MOST } });
    const it: Webhook = {
      id: makeSortedId("whk", now(), ++backend.next),
      url: body.url,
      events: body.events ?? [],
      enabled: true,
      problem: null,
      previous_secret_until: null,
      failing_since: null,
      last_success_at: null,
      created_by: caller.user.id,
      created_by_key: null,
      created_at: now(),
    };
    backend.webhooks.push({ ...it, tenant_id });
    return new Reply({ ...it, secret: secretOf(backend.next) }, 201, { etag: tagOf(it) });
  },
  updateWebhook: (context) => {
    const { caller, body, request } = context;
    needsRole(context, "member");
    check(body.url);
    const it = find(context, context.path.id);
    const expected = request.headers.get("if-match");
    if (expected !== "*" && expected !== tagOf(it)) throw new Refusal("changed-meanwhile");
    const isEnabled = body.enabled === true && !it.enabled;
    if (isEnabled || (body.url && body.url !== it.url)) it.created_by = caller.user.id;
    if (isEnabled) Object.assign(it, { problem: null, failing_since: null });
    if (body.url) it.url = body.url;
    if (body.events) it.events = body.events;
    if (body.enabled != null) it.enabled = body.enabled;
    return new Reply(shown(it), 200, { etag: tagOf(it) });
  },
  deleteWebhook: (context) => {
    const { backend, path } = context;
    needsRole(context, "member");
    find(context, path.id);
    backend.webhooks = backend.webhooks.filter((it) => it.id !== path.id);
    backend.deliveries = backend.deliveries.filter((it) => it.webhook_id !== path.id);
  },
  rotateWebhookSecret: (context) => {
    const { backend, path } = context;
    needsRole(context, "member");
    const it = find(context, path.id);
    it.previous_secret_until = new Date(Date.now() + OVERLAP).toISOString();
    return { ...shown(it), secret: secretOf(++backend.next) };
  },
  takeOverWebhook: (context) => {
    const { caller, path } = context;
    needsRole(context, "owner");
    const it = find(context, path.id);
    if (it.problem === "maker_ended") Object.assign(it, { problem: null, enabled: true });
    it.created_by = caller.user.id;
    return shown(it);
  },
  testWebhook: (context) => {
    const { backend, path } = context;
    needsRole(context, "member");
    const webhook = find(context, path.id);
    const id = makeSortedId<WebhookDelivery["id"]>("dlv", now(), ++backend.next);
    const delivery: WebhookDelivery = {
      id,
      webhook_id: webhook.id,
      message_id: id,
      type: "webhook.test",
      state: "pending",
      attempts: [],
      next_attempt_at: now(),
      created_at: now(),
      ended_at: null,
    };
    backend.deliveries.unshift(delivery);
    setTimeout(() => answer(backend, webhook, delivery), ANSWERS_IN);
    return new Reply(delivery, 202);
  },
  listWebhookDeliveries: (context) => {
    const { backend, path, query } = context;
    find(context, path.id);
    return pageOf(
      backend.deliveries.filter(
        (it) => it.webhook_id === path.id && (!query.state || it.state === query.state),
      ),
      query,
    );
  },
} satisfies Partial<Handlers>;
