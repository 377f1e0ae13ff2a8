import { queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import { listRegistryCredentials } from "@/api/generated/operations";

/** Newest first: 50 at most. */
export const registryCredentials = queryOptions({
  queryKey: ["registry-credentials"],
  queryFn: async ({ signal }) =>
    (await call(listRegistryCredentials, { query: { limit: 200 } }, { signal })).items,
});
