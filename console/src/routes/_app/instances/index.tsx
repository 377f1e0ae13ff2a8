import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { endedRuns, instances } from "@/api/instances/queries";
import { tenantOf } from "@/app/needs-tenant";
import { filterOf } from "@/domain/instances/filter";
import { InstancesPage } from "@/features/instances/page";
import { manyRows } from "@/ui/table";

/** How long the list waits for the strips of its rows, in milliseconds. */
const TOGETHER = 30;

export const Route = createFileRoute("/_app/instances/")({
  validateSearch: z.object({
    name: z.optional(z.catch(z.string(), "")),
    state: z.optional(z.catch(z.string(), "")),
    sort: z.optional(z.catch(z.optional(z.enum(["created_at", "-created_at", "name", "-name"])), undefined)),
  }),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { client, me }, deps }) => {
    tenantOf(me);
    const runs = client.prefetchQuery(endedRuns);
    await Promise.all([
      // rows are drawn once
      manyRows.loaded(),
      client.ensureInfiniteQueryData(instances(filterOf(deps))),
      // the sentence is about all of them
      client.ensureInfiniteQueryData(instances()),
    ]);
    // they mostly come together
    await Promise.race([runs, new Promise((resolve) => setTimeout(resolve, TOGETHER))]);
  },
  component: InstancesPage,
});
