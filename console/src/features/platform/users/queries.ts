import { queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import { getUser, listUserMemberships, listUsers } from "@/api/generated/operations";
import type { UserId } from "@/api/generated/types";
import { pagesOf } from "@/api/pages";

export const users = (email?: string) =>
  pagesOf(["platform", "users", "list", email ?? ""], listUsers, {
    query: { ...(email && { email_prefix: email }) },
  });

export const user = (id: UserId) =>
  queryOptions({
    queryKey: ["platform", "users", "one", id],
    queryFn: ({ signal }) => call(getUser, { path: { id } }, { signal }),
  });

export const memberships = (id: UserId) =>
  queryOptions({
    queryKey: ["platform", "users", "memberships", id],
    queryFn: ({ signal }) => call(listUserMemberships, { path: { id } }, { signal }),
  });
