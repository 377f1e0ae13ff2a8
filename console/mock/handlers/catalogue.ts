import type { Use } from "../../src/api/generated/types";
import type { Backend } from "../backend.ts";
import type { Context, Handlers } from "../types.ts";

/** Whether it counts: those that are not stopped, or hold their unit. */
const counts = (kept: Backend["instances"][number]) => kept.it.state !== "stopped" || kept.it.hold !== null;

export function usedBy({ backend, caller }: Context): Use {
  const own = backend.instances.filter((kept) => kept.tenant_id === caller.session.tenant_id);
  const gpus: Record<string, number> = {};
  let cents = 0;
  for (const kept of own.filter(counts)) {
    const spec = backend.specs.find((it) => it.id === kept.it.gpu_spec.id);
    if (!spec) continue;
    gpus[spec.gpu_model] = (gpus[spec.gpu_model] ?? 0) + spec.gpu_count;
    cents += Math.round(Number(kept.it.price_per_hour) * 100);
  }
  return { instances: own.length, gpus, cost_per_hour: { USD: (cents / 100).toFixed(2) } };
}

export const catalogueHandlers = {
  getQuota: (context) => ({ limits: context.backend.limits, used: usedBy(context) }),
} satisfies Partial<Handlers>;
