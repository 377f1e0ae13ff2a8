import { createFileRoute } from "@tanstack/react-router";
import { gpuSpecs, services, storages } from "@/api/catalogue";
import type { InstanceId } from "@/api/generated/types";
import { history, recentRuns } from "@/api/instances/details";
import { instance } from "@/api/instances/queries";
import { tenantOf } from "@/app/needs-tenant";
import { InstanceLayout } from "@/features/instance/layout";

import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/instances/$id")({
  beforeLoad: () => needWords("instance"),
  loader: async ({ context: { client, me }, params }) => {
    tenantOf(me);
    const id = params.id as InstanceId;
    // what stands beside the state comes when it comes
    for (const query of [gpuSpecs, services, storages]) void client.prefetchQuery(query as typeof gpuSpecs);
    void client.prefetchQuery(history(id));
    void client.prefetchQuery(recentRuns(id));
    await client.ensureQueryData(instance(id));
  },
  component: InstanceLayout,
});
