import { createFileRoute } from "@tanstack/react-router";
import { budget } from "@/api/catalogue";
import { endedRuns, instances } from "@/api/instances/queries";
import { tenantOf } from "@/app/needs-tenant";
import { OverviewPage } from "@/features/overview/page";
import { failedJobs, recentEvents, usageByDay } from "@/features/overview/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/overview")({
  beforeLoad: () => needWords("overview"),
  loader: async ({ context: { client, me } }) => {
    tenantOf(me);
    // what stands below the fold comes when it comes
    void client.prefetchQuery(endedRuns);
    void client.prefetchQuery(recentEvents);
    void client.prefetchQuery(failedJobs);
    await Promise.all([
      client.ensureInfiniteQueryData(instances()),
      client.ensureQueryData(usageByDay),
      client.ensureQueryData(budget),
    ]);
  },
  component: OverviewPage,
});
