import { queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import { listSignInProviders } from "@/api/generated/operations";

export const providers = queryOptions({
  queryKey: ["sign-in-providers"],
  staleTime: Number.POSITIVE_INFINITY,
  queryFn: ({ signal }) => call(listSignInProviders, {}, { signal, anonymous: true }),
});
