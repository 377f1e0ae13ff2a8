import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { storages } from "@/api/catalogue";
import type { ModelId } from "@/api/generated/types";
import { artifacts } from "@/api/jobs/queries";
import { deployments, model } from "@/api/models";
import { tenantOf } from "@/app/needs-tenant";
import { ModelPage } from "@/features/models/details";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/models/$id")({
  validateSearch: z.object({
    open: z.optional(z.catch(z.optional(z.enum(["lay"])), undefined)),
  }),
  beforeLoad: () => needWords("models"),
  loader: async ({ context: { client, me }, params }) => {
    tenantOf(me);
    const id = params.id as ModelId;
    void client.prefetchQuery(storages);
    const [it] = await Promise.all([
      client.ensureQueryData(model(id)),
      client.ensureQueryData(deployments(id)),
    ]);
    void client.prefetchQuery(artifacts(it.job_id));
  },
  component: ModelPage,
});
