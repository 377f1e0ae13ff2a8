import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { budget, storages } from "@/api/catalogue";
import { instances } from "@/api/instances/queries";
import { pools } from "@/api/jobs/queries";
import { tenantOf } from "@/app/needs-tenant";
import { allGroupings, groupingOf, jobGroupingOf, periods, subjects } from "@/features/usage/choices";
import { deletedInstances } from "@/features/usage/names";
import { UsagePage } from "@/features/usage/page";
import { jobUsage, usage } from "@/features/usage/queries";
import { needWords } from "@/i18n";

const day = z.optional(z.catch(z.optional(z.string().check(z.regex(/^\d{4}-\d\d-\d\d$/))), undefined));

export const Route = createFileRoute("/_app/usage/")({
  validateSearch: z.object({
    period: z.optional(z.catch(z.optional(z.enum(periods)), undefined)),
    from: day,
    to: day,
    of: z.optional(z.catch(z.optional(z.enum(subjects)), undefined)),
    by: z.optional(z.catch(z.optional(z.enum(allGroupings)), undefined)),
  }),
  beforeLoad: () => needWords("usage"),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { client, me }, deps: { by: wanted, of, ...choice } }) => {
    tenantOf(me);
    const by = groupingOf(of === "jobs" ? undefined : wanted);
    const jobBy = jobGroupingOf(of === "jobs" ? wanted : undefined);
    void client.prefetchQuery(storages);
    if (by === "instance") {
      void client.prefetchInfiniteQuery(instances());
      void client.prefetchQuery(deletedInstances);
    }
    if (jobBy === "pool") void client.prefetchQuery(pools);
    await Promise.all([
      client.ensureInfiniteQueryData(usage(choice, by)),
      client.ensureInfiniteQueryData(jobUsage(choice, jobBy)),
      client.ensureQueryData(budget),
    ]);
  },
  component: UsagePage,
});
