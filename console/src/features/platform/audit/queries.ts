import { infiniteQueryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
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
import type { AuditEntry, TenantId } from "@/api/generated/types";
import { merge, type Source } from "@/domain/audit/merge";

export const logs = ["identity", "gpu", "stock", "storage", "jobs"] as const;
export type Log = (typeof logs)[number];

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

const PAGE = 50;

/** What is read of each log so far, and where it goes on; null at its end. */
export type Read = Record<string, { items: readonly AuditEntry[]; cursor: string | null }>;

const sourcesOf = (read: Read): Source<AuditEntry>[] =>
  Object.entries(read).map(([key, { items, cursor }]) => ({ key, items, hasMore: cursor !== null }));

/** Entries of several logs by time. Each page reads on only where something is missing. */
export const entries = ({ tenant, log }: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ["platform", "audit", tenant ?? "", log ?? ""],
    initialPageParam: {} as Read,
    queryFn: async ({ pageParam: read, signal }): Promise<Read> => {
      const asked = log ? [log] : logs;
      const { waiting } = merge(sourcesOf(read));
      const pages = await Promise.all(
        asked.map(async (one) => {
          const known = read[one];
          if (known && !waiting.includes(one)) return [one, known] as const;
          const cursor = known?.cursor;
          const query = { limit: PAGE, ...(tenant && { tenant_id: tenant }), ...(cursor && { cursor }) };
          const page = await call(lists[one], { query }, { signal });
          return [
            one,
            { items: [...(known?.items ?? []), ...page.items], cursor: page.next_cursor },
          ] as const;
        }),
      );
      return Object.fromEntries(pages);
    },
    getNextPageParam: (read) => (Object.values(read).some((it) => it.cursor !== null) ? read : null),
  });

export const mergedOf = (read: Read | undefined) => merge(sourcesOf(read ?? {})).items;
