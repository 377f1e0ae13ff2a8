import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { baseModels, models } from "@/api/models";
import { tenantOf } from "@/app/needs-tenant";
import { ModelsPage } from "@/features/models/page";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/models/")({
  validateSearch: z.object({ name: z.optional(z.catch(z.optional(z.string()), undefined)) }),
  beforeLoad: () => needWords("models"),
  loader: async ({ context: { client, me } }) => {
    tenantOf(me);
    await Promise.all([client.ensureInfiniteQueryData(models), client.ensureQueryData(baseModels)]);
  },
  component: ModelsPage,
});
