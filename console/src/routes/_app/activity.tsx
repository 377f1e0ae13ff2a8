import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { tenantOf } from "@/app/needs-tenant";
import { areas } from "@/features/activity/areas";
import { ActivityPage } from "@/features/activity/page";
import { activity } from "@/features/activity/queries";
import { needWords } from "@/i18n";
import { refusalOf } from "@/lib/can";

export const Route = createFileRoute("/_app/activity")({
  // `services`: also what services did on their own; `open`: the entry that is unfolded
  validateSearch: z.object({
    area: z.optional(z.catch(z.optional(z.enum(areas)), undefined)),
    services: z.optional(z.catch(z.optional(z.boolean()), undefined)),
    open: z.optional(z.catch(z.optional(z.string()), undefined)),
  }),
  beforeLoad: () => needWords("activity"),
  loaderDeps: ({ search }) => ({ area: search.area, services: search.services }),
  loader: async ({ context: { client, me }, deps }) => {
    tenantOf(me);
    if (refusalOf(me, "audit.read") === null)
      await client.ensureInfiniteQueryData(activity(deps.area, deps.services ?? false));
  },
  component: ActivityPage,
});
