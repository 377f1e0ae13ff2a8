import type { InstanceState } from "@/api/generated/types";
import type { InstanceFilter, InstanceSort } from "@/api/instances/cache";

const all = [
  "pending",
  "starting",
  "running",
  "stopping",
  "stopped",
  "deleting",
] as const satisfies InstanceState[];

export interface InstanceSearch {
  name?: string | undefined;
  state?: string | undefined;
  sort?: InstanceSort | undefined;
}

/** What the address asks for: states are separated by commas, and those that do not exist are left out. */
export function filterOf({ name, state, sort }: InstanceSearch): InstanceFilter {
  const asked = state?.split(",") ?? [];
  return { name, sort, states: all.filter((one) => asked.includes(one)) };
}
