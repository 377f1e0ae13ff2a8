import { createFileRoute } from "@tanstack/react-router";
import { health } from "@/features/platform/health/queries";
import { instances } from "@/features/platform/instances/queries";
import { OverviewPage } from "@/features/platform/overview/page";
import { costByDay, repairs, stockOperations, stockRows } from "@/features/platform/overview/queries";
import { budgets, spending, tenants } from "@/features/platform/tenants/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/admin/")({
  beforeLoad: () => needWords("platform", "tenants", "health", "platformOverview"),
  loader: async ({ context: { client } }) => {
    void client.prefetchQuery(repairs);
    void client.prefetchQuery(stockOperations);
    void client.prefetchQuery(costByDay);
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
