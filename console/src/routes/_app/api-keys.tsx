import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { tenantOf } from "@/app/needs-tenant";
import { KeysPage } from "@/features/keys/page";
import { keys } from "@/features/keys/queries";

export const Route = createFileRoute("/_app/api-keys")({
  validateSearch: z.object({ open: z.optional(z.catch(z.enum(["create"]), "create")) }),
  loader: ({ context }) => {
    tenantOf(context.me);
    return context.client.ensureQueryData(keys);
  },
  component: KeysPage,
});
