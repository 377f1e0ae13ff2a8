import {
  getPlatformAuditVerification,
  getPlatformInstanceAuditVerification,
  getPlatformJobAuditVerification,
  getPlatformStockAuditVerification,
  getPlatformStorageAuditVerification,
  listPlatformAuditEntries,
  listPlatformInstanceAuditEntries,
  listPlatformJobAuditEntries,
  listPlatformStockAuditEntries,
  listPlatformStorageAuditEntries,
} from "@/api/generated/operations";
import type { TenantId } from "@/api/generated/types";
import { auditPages } from "@/domain/audit/newest";
import type { Log } from "./logs";

const lists = {
  identity: listPlatformAuditEntries,
  gpu: listPlatformInstanceAuditEntries,
  stock: listPlatformStockAuditEntries,
  storage: listPlatformStorageAuditEntries,
  jobs: listPlatformJobAuditEntries,
};

export const verifications = {
  identity: getPlatformAuditVerification,
  gpu: getPlatformInstanceAuditVerification,
  stock: getPlatformStockAuditVerification,
  storage: getPlatformStorageAuditVerification,
  jobs: getPlatformJobAuditVerification,
};

export interface AuditFilter {
  tenant?: TenantId | undefined;
  log?: Log | undefined;
}

/** Entries of several logs by time. */
export const entries = ({ tenant, log }: AuditFilter) =>
  auditPages<Log>(
    ["platform", "audit", tenant ?? "", log ?? ""],
    log ? { [log]: lists[log] } : lists,
    tenant ? { tenant_id: tenant } : {},
  );
