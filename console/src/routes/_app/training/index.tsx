import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { trainings } from "@/api/jobs/queries";
import { jobStates } from "@/api/jobs/states";
import { models } from "@/api/models";
import { tenantOf } from "@/app/needs-tenant";
import { TrainingsPage } from "@/features/training/page";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/training/")({
  validateSearch: z.object({ state: z.optional(z.catch(z.optional(z.enum(jobStates)), undefined)) }),
  beforeLoad: async () => {
    await Promise.all([needWords("jobs"), needWords("training")]);
  },
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { client, me }, deps }) => {
    tenantOf(me);
    await Promise.all([
      client.ensureInfiniteQueryData(trainings(deps.state)),
      // names are those of the models that were made
      client.ensureInfiniteQueryData(models),
    ]);
  },
  component: TrainingsPage,
});
