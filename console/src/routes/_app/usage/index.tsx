import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { budget, storages } from "@/api/catalogue";
import { instances } from "@/api/instances/queries";
import { tenantOf } from "@/app/needs-tenant";
import { groupings, periods } from "@/features/usage/choices";
import { deletedInstances } from "@/features/usage/names";
import { UsagePage } from "@/features/usage/page";
import { usage } from "@/features/usage/queries";
import { needWords } from "@/i18n";

const day = z.optional(z.catch(z.optional(z.string().check(z.regex(/^\d{4}-\d\d-\d\d$/))), undefined));

export const Route = createFileRoute("/_app/usage/")({
  validateSearch: z.object({
    period: z.optional(z.catch(z.optional(z.enum(periods)), undefined)),
    from: day,
    to: day,
    by: z.optional(z.catch(z.optional(z.enum(groupings)), undefined)),
  }),
  beforeLoad: () => needWords("usage"),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { client, me }, deps: { by = "day", ...choice } }) => {
    tenantOf(me);
    void client.prefetchQuery(storages);
    if (by === "instance") {
      void client.prefetchInfiniteQuery(instances());
      void client.prefetchQuery(deletedInstances);
    }
    await Promise.all([client.ensureInfiniteQueryData(usage(choice, by)), client.ensureQueryData(budget)]);
  },
  component: UsagePage,
});
