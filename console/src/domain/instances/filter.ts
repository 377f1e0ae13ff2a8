import type { InstanceState } from "@/api/generated/types";
import type { InstanceFilter } from "@/api/instances/cache";

const all = [
  "pending",
  "starting",
  "running",
  "stopping",
  "stopped",
  "deleting",
] as const satisfies InstanceState[];

/** What the address asks for: states are separated by commas, and those that do not exist are left out. */
export function filterOf({ name, state }: { name?: string; state?: string }): InstanceFilter {
  const asked = state?.split(",") ?? [];
  return { name, states: all.filter((one) => asked.includes(one)) };
}
