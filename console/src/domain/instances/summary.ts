import type { Instance } from "@/api/generated/types";
import { ratesOf, type Totals } from "@/lib/money";
import { isFailed } from "./standing";

export interface Summary {
  running: number;
  waiting: number;
  failed: number;
  held: number;
  /** Per hour. */
  rate: Totals;
  heldRate: Totals;
}

/** How things stand, in numbers. What is on its way costs nothing yet. */
export function summaryOf(items: readonly Instance[]): Summary {
  const running = items.filter((it) => it.state === "running");
  const holds = items.flatMap(({ hold }) => (hold?.since ? hold : []));
  return {
    running: running.length,
    waiting: items.filter((it) => it.reason === "queued").length,
    failed: items.filter(isFailed).length,
    held: holds.length,
    rate: ratesOf(running),
    heldRate: ratesOf(holds),
  };
}
