import { queryOptions } from "@tanstack/react-query";
import type { CapacityPeriod } from "@/api/capacity-periods";
import { call } from "@/api/client";
import {
  listPlatformJobUsage,
  listPlatformPools,
  listPlatformUsage,
  listStock,
  listStockOperations,
  listStockRepairs,
} from "@/api/generated/operations";
import { monthStart } from "../parts/month";

const MOST = 200;
const NEWEST = 20;
const POOLS = 8;

/** Of capacity over time, unless the address says another. */
export const shownPeriod: CapacityPeriod = "week";

/** The first rows; more are on the page of the stock. */
export const stockRows = queryOptions({
  queryKey: ["platform", "overview", "stock"],
  staleTime: 10_000,
  queryFn: ({ signal }) => call(listStock, { query: { limit: MOST } }, { signal }),
});

export const repairs = queryOptions({
  queryKey: ["platform", "overview", "repairs"],
  queryFn: ({ signal }) => call(listStockRepairs, { query: { limit: NEWEST } }, { signal }),
});

export const stockOperations = queryOptions({
  queryKey: ["platform", "overview", "operations"],
  queryFn: ({ signal }) => call(listStockOperations, { query: { limit: NEWEST } }, { signal }),
});

export const costByDay = queryOptions({
  queryKey: ["platform", "usage", "days"],
  queryFn: ({ signal }) =>
    call(
      listPlatformUsage,
      { query: { from: monthStart(Date.now()), group_by: "day", limit: MOST } },
      { signal },
    ),
});

export const jobCostByDay = queryOptions({
  queryKey: ["platform", "job-usage", "days"],
  queryFn: ({ signal }) =>
    call(
      listPlatformJobUsage,
      { query: { from: monthStart(Date.now()), group_by: "day", limit: MOST } },
      { signal },
    ),
});

/** The oldest; more are on their page. */
export const firstPools = queryOptions({
  queryKey: ["platform", "pools", "first"],
  queryFn: ({ signal }) => call(listPlatformPools, { query: { limit: POOLS } }, { signal }),
});
