import type { HealthState } from "@/api/generated/types";
import type { PlainKey } from "@/i18n";
import type { Mark } from "@/ui/state";

export const healthStanding: Record<HealthState, { mark: Mark; word: PlainKey }> = {
  ok: { mark: "runs", word: "health.ok" },
  shutting_down: { mark: "moves", word: "health.shuttingDown" },
  degraded: { mark: "moves", word: "health.degraded" },
  unavailable: { mark: "failed", word: "health.unavailable" },
  unreachable: { mark: "failed", word: "health.unreachable" },
};
