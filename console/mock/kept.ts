import type { Instance, MeteredRun, NewInstance, TenantId } from "../src/api/generated/types";

/** An instance with what only the platform knows of it. */
export interface Kept {
  tenant_id: TenantId;
  it: Instance;
  order: NewInstance;
  /** Newest first. */
  runs: MeteredRun[];
  /** Grows with each start; what was planned for an earlier one does not happen. */
  attempt: number;
  /** Earlier operations: they have ended. */
  operations?: Instance["operation_id"][];
}
