import type { Tenant, TenantStep } from "@/api/generated/types";
import type { PlainKey } from "@/i18n";
import type { Mark } from "@/ui/state";

export const isCarriedOut = ({ steps }: Pick<Tenant, "steps">) => steps.every((step) => step.done);

/** What is still to be stopped or deleted, by kind, over all services. */
export function remainingOf(steps: readonly TenantStep[]): [kind: string, count: number][] {
  const sums = new Map<string, number>();
  for (const step of steps)
    for (const [kind, count] of Object.entries(step.remaining)) sums.set(kind, (sums.get(kind) ?? 0) + count);
  return [...sums];
}

/** How a tenant stands, as a mark and a word. */
export function tenantStanding(tenant: Pick<Tenant, "state" | "steps">): { mark: Mark; word: PlainKey } {
  switch (tenant.state) {
    case "active":
      return { mark: "runs", word: "platform.tenantActive" };
    case "suspended":
      return isCarriedOut(tenant)
        ? { mark: "rests", word: "platform.tenantSuspended" }
        : { mark: "moves", word: "platform.tenantSuspending" };
    case "deleting":
      return { mark: "moves", word: "platform.tenantDeleting" };
  }
}
