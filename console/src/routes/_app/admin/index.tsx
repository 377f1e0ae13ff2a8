import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { capacityPeriodNames } from "@/api/capacity-periods";
import { stockCapacity } from "@/api/stock";
import { health } from "@/features/platform/health/queries";
import { instances } from "@/features/platform/instances/queries";
import { OverviewPage } from "@/features/platform/overview/page";
import {
  costByDay,
  firstPools,
  jobCostByDay,
  repairs,
  shownPeriod,
  stockOperations,
  stockRows,
} from "@/features/platform/overview/queries";
import { budgets, spending, tenants } from "@/features/platform/tenants/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/admin/")({
  validateSearch: z.object({
    // of the chart
    period: z.optional(z.catch(z.optional(z.enum(capacityPeriodNames)), undefined)),
  }),
  loaderDeps: ({ search: { period = shownPeriod } }) => ({ period }),
  beforeLoad: () => needWords("platform", "tenants", "health", "platformOverview", "stock"),
  loader: async ({ context: { client }, deps }) => {
    void client.prefetchQuery(stockCapacity({}, deps.period));
    void client.prefetchQuery(firstPools);
    void client.prefetchQuery(repairs);
    void client.prefetchQuery(stockOperations);
    void client.prefetchQuery(costByDay);
    void client.prefetchQuery(jobCostByDay);
    void client.prefetchQuery(spending);
    void client.prefetchQuery(budgets);
    await Promise.all([
      client.ensureQueryData(health),
      client.ensureQueryData(stockRows),
      client.ensureInfiniteQueryData(instances({ state: "running" })),
      client.ensureInfiniteQueryData(tenants()),
    ]);
  },
  component: OverviewPage,
});
