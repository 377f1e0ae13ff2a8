import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import type { WebhookId } from "@/api/generated/types";
import { people } from "@/api/instances/details";
import { tenantOf } from "@/app/needs-tenant";
import { WebhookPage } from "@/features/webhooks/detail";
import { deliveries, webhook } from "@/features/webhooks/queries";
import { needWords } from "@/i18n";

const states = ["pending", "delivered", "failed", "cancelled"] as const;

export const Route = createFileRoute("/_app/webhooks/$id")({
  validateSearch: z.object({
    open: z.optional(z.catch(z.enum(["change"]), "change")),
    state: z.optional(z.catch(z.optional(z.enum(states)), undefined)),
    // whose attempts and message are unfolded
    delivery: z.optional(z.catch(z.optional(z.string()), undefined)),
  }),
  beforeLoad: () => needWords("webhooks"),
  loaderDeps: ({ search: { state } }) => ({ state }),
  loader: async ({ context: { client, me }, params, deps: { state } }) => {
    const id = params.id as WebhookId;
    void client.prefetchQuery(people(tenantOf(me)));
    await Promise.all([
      client.ensureQueryData(webhook(id)),
      client.ensureInfiniteQueryData(deliveries(id, state)),
    ]);
  },
  component: Page,
});

function Page() {
  return <WebhookPage id={Route.useParams().id as WebhookId} />;
}
