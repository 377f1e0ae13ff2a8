import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { instances } from "@/api/instances/queries";
import { tenantOf } from "@/app/needs-tenant";
import { SecretsPage } from "@/features/secrets/page";
import { registryCredentials } from "@/features/secrets/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/secrets")({
  // `add`: the dialog, with the registry that it begins with
  validateSearch: z.object({ add: z.optional(z.catch(z.string(), "")) }),
  beforeLoad: () => needWords("secrets"),
  loader: async ({ context: { client, me } }) => {
    tenantOf(me);
    await Promise.all([
      client.ensureQueryData(registryCredentials),
      client.ensureInfiniteQueryData(instances()),
    ]);
  },
  component: SecretsPage,
});
