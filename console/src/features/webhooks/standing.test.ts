import { expect, test } from "vitest";
import type { Webhook, WebhookDelivery } from "@/api/generated/types";
import { waitFor } from "./queries";
import { standingOf } from "./standing";

const webhook = (more: Partial<Webhook>) => ({ enabled: true, problem: null, ...more }) as Webhook;

test("the platform's reason goes before what was set, and failures before successes", () => {
  expect(standingOf(webhook({}))).toBe("new");
  expect(standingOf(webhook({ last_success_at: "2026-01-01T00:00:00Z" }))).toBe("works");
  expect(
    standingOf(webhook({ last_success_at: "2026-01-01T00:00:00Z", failing_since: "2026-01-02T00:00:00Z" })),
  ).toBe("fails");
  expect(standingOf(webhook({ enabled: false, failing_since: "2026-01-02T00:00:00Z" }))).toBe("off");
  expect(standingOf(webhook({ enabled: false, problem: "failing" }))).toBe("failing");
  expect(standingOf(webhook({ enabled: false, problem: "maker_ended" }))).toBe("maker");
});

test("what is due soon is looked at soon, what is not later, what has ended never", () => {
  const now = Date.parse("2026-01-01T12:00:00Z");
  const due = (next: string | null, state = "pending") =>
    [{ state, next_attempt_at: next }] as WebhookDelivery[];
  expect(waitFor([], now)).toBe(false);
  expect(waitFor(due(null, "failed"), now)).toBe(false);
  expect(waitFor(due("2026-01-01T12:00:05Z"), now)).toBe(2000);
  expect(waitFor(due(null), now)).toBe(2000);
  expect(waitFor(due("2026-01-01T14:00:00Z"), now)).toBe(30_000);
});
