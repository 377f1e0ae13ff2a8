import { queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import { getTotp, listLinkedAccounts, listPasskeys, listSessions } from "@/api/generated/operations";

export const totp = queryOptions({
  queryKey: ["me", "totp"],
  queryFn: ({ signal }) => call(getTotp, {}, { signal }),
});

export const passkeys = queryOptions({
  queryKey: ["me", "passkeys"],
  queryFn: ({ signal }) => call(listPasskeys, { query: { limit: 100 } }, { signal }),
});

export const linkedAccounts = queryOptions({
  queryKey: ["me", "linked-accounts"],
  queryFn: ({ signal }) => call(listLinkedAccounts, { query: { limit: 100 } }, { signal }),
});

export const sessions = queryOptions({
  queryKey: ["me", "sessions"],
  queryFn: ({ signal }) => call(listSessions, { query: { limit: 100 } }, { signal }),
});
