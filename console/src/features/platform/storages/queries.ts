import { queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import {
  getPlatformStorage,
  listPlatformStorageActions,
  listPlatformStorages,
} from "@/api/generated/operations";
import type { StorageId, StorageState, TenantId } from "@/api/generated/types";
import { pagesOf } from "@/api/pages";

export interface StorageFilter {
  tenant?: TenantId | undefined;
  state?: StorageState | undefined;
}

export const storages = ({ tenant, state }: StorageFilter = {}) =>
  pagesOf(["platform", "storages", "list", tenant ?? "", state ?? ""], listPlatformStorages, {
    query: { ...(tenant && { tenant_id: tenant }), ...(state && { state: [state] }) },
  });

const SOON = 2000;

export const storage = (id: StorageId) =>
  queryOptions({
    queryKey: ["platform", "storages", "one", id],
    queryFn: ({ signal }) => call(getPlatformStorage, { path: { id } }, { signal }),
    refetchInterval: ({ state: { data, error } }) =>
      data && !error && data.state !== "available" && data.state !== "failed" ? SOON : false,
  });

export const storageActions = (id: StorageId) =>
  pagesOf(["platform", "storages", "actions", id], listPlatformStorageActions, { path: { id } });
