import type {
  AdminAction,
  BudgetTerms,
  Instance,
  Limits,
  Operation,
  PlatformInstance,
  Pool,
  PoolId,
  PoolShare,
  SigningKey,
  StorageLimits,
  TenantId,
  Worker,
} from "../src/api/generated/types";

/** What only administrators see. */
export interface Platform {
  quotas: Map<TenantId, Limits>;
  storageQuotas: Map<TenantId, StorageLimits>;
  budgets: Map<TenantId, BudgetTerms>;
  /** What each tenant has spent since the month began, in cents. */
  spent: Map<TenantId, number>;
  /** By path: grows with each change, and is the ETag. */
  generations: Map<string, number>;
  /** Of instances and storages, newest first. */
  actions: AdminAction[];
  deletions: Deletion[];
  pools: Pool[];
  /** Of all pools, oldest first. */
  workers: Worker[];
  shares: Map<PoolId, PoolShare[]>;
  signingKeys: SigningKey[];
  /** Whether somebody has changed an entry of the audit log. */
  brokenAudit: boolean;
}

export interface Deletion {
  tenant_id: TenantId;
  operation: Operation;
}

/** The ETag of what is read at the path. */
export const etagOf = ({ generations }: Platform, path: string) => `"${generations.get(path) ?? 1}"`;

export const grow = ({ generations }: Platform, path: string) =>
  generations.set(path, (generations.get(path) ?? 1) + 1);

export const platformInstance = ({
  tenant_id,
  it,
}: {
  tenant_id: TenantId;
  it: Instance;
}): PlatformInstance => ({ ...it, tenant_id });
