import { queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import {
  getPlatformInstance,
  listPlatformInstanceActions,
  listPlatformInstances,
  listPlatformSshSessions,
} from "@/api/generated/operations";
import type { InstanceId, InstanceState, TenantId } from "@/api/generated/types";
import { pagesOf } from "@/api/pages";
import { isMoving } from "@/domain/instances/standing";

export interface InstanceFilter {
  tenant?: TenantId | undefined;
  state?: InstanceState | undefined;
}

/** While one moves and the page is seen, in milliseconds. */
const SOON = 2000;

/** Those of all tenants, newest first. */
export const instances = ({ tenant, state }: InstanceFilter = {}) =>
  pagesOf(["platform", "instances", "list", tenant ?? "", state ?? ""], listPlatformInstances, {
    query: { ...(tenant && { tenant_id: tenant }), ...(state && { state: [state] }) },
  });

export const instance = (id: InstanceId) =>
  queryOptions({
    queryKey: ["platform", "instances", "one", id],
    queryFn: ({ signal }) => call(getPlatformInstance, { path: { id } }, { signal }),
    refetchInterval: ({ state: { data, error } }) => (data && !error && isMoving(data) ? SOON : false),
  });

export const instanceActions = (id: InstanceId) =>
  pagesOf(["platform", "instances", "actions", id], listPlatformInstanceActions, { path: { id } });

export const sshSessions = (filter: { tenant?: TenantId | undefined; instance?: InstanceId | undefined }) =>
  pagesOf(["platform", "ssh-sessions", filter.tenant ?? "", filter.instance ?? ""], listPlatformSshSessions, {
    query: {
      ...(filter.tenant && { tenant_id: filter.tenant }),
      ...(filter.instance && { instance_id: filter.instance }),
    },
  });
