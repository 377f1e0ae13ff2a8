import { queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import { listInvitations, listMembers } from "@/api/generated/operations";
import type { Me, TenantId } from "@/api/generated/types";
import { refusalOf } from "@/lib/can";

/** The API answers others than owners with a refusal. */
export const mayListInvitations = (me: Me) => refusalOf(me, "members.invite") === null;

export const members = (id: TenantId) =>
  queryOptions({
    queryKey: ["members", id],
    queryFn: ({ signal }) => call(listMembers, { path: { id }, query: { limit: 200 } }, { signal }),
  });

export const invitations = (id: TenantId) =>
  queryOptions({
    queryKey: ["invitations", id],
    queryFn: ({ signal }) => call(listInvitations, { path: { id }, query: { limit: 200 } }, { signal }),
  });
