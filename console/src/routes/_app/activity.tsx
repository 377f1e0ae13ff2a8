import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { tenantOf } from "@/app/needs-tenant";
import { sources } from "@/features/activity/merge";
import { ActivityPage } from "@/features/activity/page";
import { activity } from "@/features/activity/queries";
import { needWords } from "@/i18n";
import { refusalOf } from "@/lib/can";

export const Route = createFileRoute("/_app/activity")({
  // `open`: the entry that is unfolded
  validateSearch: z.object({
    area: z.optional(z.catch(z.optional(z.enum(sources)), undefined)),
    open: z.optional(z.catch(z.optional(z.string()), undefined)),
  }),
  beforeLoad: () => needWords("activity"),
  loaderDeps: ({ search }) => ({ area: search.area }),
  loader: async ({ context: { client, me }, deps }) => {
    tenantOf(me);
    if (refusalOf(me, "audit.read") === null) await client.ensureInfiniteQueryData(activity(deps.area));
  },
  component: ActivityPage,
});
