import type {
  DeliveryAttempt,
  DeliveryError,
  JobEventType,
  JobId,
  TenantId,
  UserId,
  Webhook,
  WebhookDelivery,
  WebhookId,
} from "../src/api/generated/types";
import { makeSortedId } from "./ids.ts";
import { daysAgo, hoursAgo } from "./times.ts";

export interface WebhookData {
  webhooks: (Webhook & { tenant_id: TenantId })[];
  /** Newest first. */
  deliveries: WebhookDelivery[];
  /** What hosts answer; others answer 204. */
  endpoints: Record<string, number>;
}

const MINUTE = 60_000;
/** Seconds after failed attempts. */
export const delays = [5, 60, 300, 1800, 7200, 21_600, 54_000];

const webhook = (n: number, url: string, more: Partial<Webhook>) => ({
  id: makeSortedId<WebhookId>("whk", daysAgo(120 - n * 12), n),
  url,
  events: [],
  enabled: true,
  problem: null,
  previous_secret_until: null,
  failing_since: null,
  last_success_at: null,
  created_by: null,
  created_by_key: null,
  created_at: daysAgo(120 - n * 12),
  ...more,
});

const types: JobEventType[] = ["job.succeeded", "job.succeeded", "job.succeeded", "job.failed"];

/** One attempt that ended so. */
const attempt = (
  at: number,
  answer: number | DeliveryError,
  milliseconds: number,
  retry_after_seconds: number | null = null,
): DeliveryAttempt => ({
  at: new Date(at).toISOString(),
  status: typeof answer === "number" ? answer : null,
  error: typeof answer === "string" ? answer : answer < 300 ? null : "refused",
  retry_after_seconds,
  milliseconds,
});

/** Attempts that follow each other as the platform repeats them. */
const attempts = (from: number, answers: readonly (number | DeliveryError)[]): DeliveryAttempt[] => {
  let at = from;
  return answers.map((answer, i) => {
    const one = attempt(at, answer, answer === "timed_out" ? 10_000 : 84 + ((i * 53) % 190));
    at += (delays[i] ?? 0) * 1000 + one.milliseconds;
    return one;
  });
};

function delivery(
  n: number,
  webhook_id: WebhookId,
  type: string,
  ago: number,
  answers: readonly (number | DeliveryError)[],
): WebhookDelivery {
  const created = Date.now() - ago * MINUTE;
  const made = attempts(created + 700, answers);
  const last = made.at(-1);
  const isDone = last !== undefined && last.error === null;
  const isOver = isDone || made.length > delays.length;
  const created_at = new Date(created).toISOString();
  const next =
    last && !isOver ? Date.parse(last.at) + last.milliseconds + (delays[made.length - 1] ?? 0) * 1000 : null;
  return {
    id: makeSortedId("dlv", created_at, n),
    webhook_id,
    message_id: `${makeSortedId<JobId>("job", created_at, n)}-${4 + (n % 2)}`,
    type,
    state: isDone ? "delivered" : isOver ? "failed" : last ? "pending" : "cancelled",
    attempts: made,
    next_attempt_at: next ? new Date(next).toISOString() : null,
    created_at,
    ended_at: isDone || isOver ? (last?.at ?? null) : last ? null : created_at,
  };
}

/** Endpoints of the studio: one that works, one that fails, and those that the platform has switched off. */
export function webhookSeed(
  tenant_id: TenantId,
  people: { mira: UserId; tomas: UserId; gone: UserId },
): WebhookData {
  const { mira, tomas, gone } = people;
  const render = webhook(1, "https://render.northlight.studio/hooks/atelier", {
    events: ["job.succeeded", "job.failed"],
    created_by: mira,
    last_success_at: hoursAgo(0.07),
  });
  const chat = webhook(2, "https://chat.northlight.studio/in/pipeline", {
    events: ["job.failed", "job.expired"],
    created_by: tomas,
    failing_since: hoursAgo(2.6),
    last_success_at: hoursAgo(31),
  });
  const old = webhook(3, "https://pipeline-2.northlight.studio/in", {
    enabled: false,
    problem: "failing",
    created_by: mira,
    failing_since: daysAgo(5.4),
    last_success_at: daysAgo(5.5),
  });
  const assets = webhook(4, "https://assets.northlight.studio/atelier", {
    events: ["job.succeeded"],
    enabled: false,
    problem: "maker_ended",
    created_by: gone,
    last_success_at: daysAgo(12),
  });
  const lab = webhook(5, "https://lab.northlight.studio/preview?token=draft", { enabled: false });
  const deliveries = [
    ...Array.from({ length: 64 }, (_, i) =>
      delivery(
        i,
        render.id,
        types[i % types.length] ?? "job.succeeded",
        4.2 + i * 17 + ((i * 7) % 11),
        i % 13 === 3 ? [503, 204] : i === 29 ? ["timed_out", "timed_out", 204] : [204],
      ),
    ),
    delivery(101, chat.id, "job.failed", 31, [500, 500, 500, 500]),
    delivery(102, chat.id, "job.expired", 156, ["timed_out", 500, 500, "no_connection", 500]),
    delivery(103, chat.id, "job.failed", 1860, [204]),
    delivery(111, old.id, "job.succeeded", 60 * 28, []),
    delivery(
      112,
      old.id,
      "job.succeeded",
      60 * 40,
      Array.from({ length: 8 }, () => "no_connection" as const),
    ),
    delivery(
      113,
      old.id,
      "job.started",
      60 * 41,
      Array.from({ length: 8 }, () => "no_connection" as const),
    ),
  ];
  return {
    webhooks: [render, chat, old, assets, lab].map((it) => ({ ...it, tenant_id })),
    deliveries: deliveries.sort((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at)),
    endpoints: { "chat.northlight.studio": 500 },
  };
}
