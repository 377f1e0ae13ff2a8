import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { people } from "@/api/instances/details";
import { tenantOf } from "@/app/needs-tenant";
import { QueuePage } from "@/features/queue/page";
import { credentials, refused } from "@/features/queue/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/message-queue")({
  validateSearch: z.object({
    open: z.optional(z.catch(z.enum(["create"]), "create")),
    // whose headers and body are unfolded
    message: z.optional(z.catch(z.optional(z.string()), undefined)),
  }),
  beforeLoad: () => needWords("queue"),
  loader: async ({ context: { client, me } }) => {
    void client.prefetchQuery(people(tenantOf(me)));
    await Promise.all([client.ensureQueryData(credentials), client.ensureInfiniteQueryData(refused)]);
  },
  component: QueuePage,
});
