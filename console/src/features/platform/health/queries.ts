import { queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import {
  getPlatformHealth,
  getPlatformIsolation,
  listPlatformLogs,
  listSigningKeys,
} from "@/api/generated/operations";
import type { LogLevel } from "@/api/generated/types";

export const health = queryOptions({
  queryKey: ["platform", "health"],
  staleTime: 5_000,
  queryFn: ({ signal }) => call(getPlatformHealth, {}, { signal }),
});

export const isolation = queryOptions({
  queryKey: ["platform", "isolation"],
  queryFn: ({ signal }) => call(getPlatformIsolation, {}, { signal }),
});

export interface LogFilter {
  module?: string | undefined;
  level?: LogLevel | undefined;
  request?: string | undefined;
}

const LINES = 200;

/** The newest lines; there is no stream of them. */
export const platformLogs = ({ module, level, request }: LogFilter) =>
  queryOptions({
    queryKey: ["platform", "logs", module ?? "", level ?? "", request ?? ""],
    staleTime: 2_000,
    queryFn: ({ signal }) =>
      call(
        listPlatformLogs,
        {
          query: {
            limit: LINES,
            ...(module && { module }),
            ...(level && { level }),
            ...(request && { request_id: request }),
          },
        },
        { signal },
      ),
  });

export const signingKeys = queryOptions({
  queryKey: ["platform", "signing-keys"],
  queryFn: ({ signal }) => call(listSigningKeys, {}, { signal }),
});
