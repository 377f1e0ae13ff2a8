import { queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import { listApiKeys } from "@/api/generated/operations";

export const keys = queryOptions({
  queryKey: ["api-keys"],
  queryFn: ({ signal }) => call(listApiKeys, { query: { limit: 200 } }, { signal }),
});
