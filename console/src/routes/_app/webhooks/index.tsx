import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { tenantOf } from "@/app/needs-tenant";
import { WebhooksPage } from "@/features/webhooks/page";
import { webhooks } from "@/features/webhooks/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/webhooks/")({
  validateSearch: z.object({ open: z.optional(z.catch(z.enum(["create"]), "create")) }),
  beforeLoad: () => needWords("webhooks"),
  loader: ({ context }) => {
    tenantOf(context.me);
    return context.client.ensureQueryData(webhooks);
  },
  component: WebhooksPage,
});
