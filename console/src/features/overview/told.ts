import type { Event } from "@/api/generated/types";
import type { Key } from "@/i18n";

type Told = Extract<Key, `overview.told${string}`>;

/** The sentence of an event; null for steps that only its page tells. */
export function toldOf(event: Event): Told | null {
  switch (event.type) {
    case "instance.created":
      return "overview.toldCreated";
    case "instance.updated":
      return "overview.toldUpdated";
    case "instance.start_requested":
      return "overview.toldStarted";
    case "instance.restart_requested":
      return "overview.toldRestarted";
    case "instance.deletion_requested":
      return "overview.toldDeleted";
    case "instance.stop_requested":
      return event.actor.kind === "user" ? "overview.toldStopped" : null;
    case "instance.stopped":
      return {
        user: null,
        failure: null,
        administrator: "overview.toldStoppedAdministrator",
        tenant_suspended: "overview.toldStoppedSuspended",
        budget_exhausted: "overview.toldStoppedBudget",
        idle: "overview.toldStoppedIdle",
        recalled: "overview.toldStoppedRecalled",
      }[event.data.cause] as Told | null;
    case "instance.start_failed":
      return "overview.toldStartFailed";
    case "instance.failed":
      return "overview.toldFailed";
    case "budget.reached":
      return "overview.toldBudget";
    case "budget.stopped":
      return "overview.toldBudgetStopped";
    case "budget.resumed":
      return "overview.toldBudgetResumed";
    default:
      return null;
  }
}
