import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { baseModels } from "@/api/models";
import { tenantOf } from "@/app/needs-tenant";
import { NewTrainingPage } from "@/features/training/new";
import { needWords } from "@/i18n";

const word = z.optional(z.catch(z.optional(z.string()), undefined));

export const Route = createFileRoute("/_app/training/new")({
  // `like`: id of a training whose settings are filled in, if this browser has kept them
  validateSearch: z.object({ base: word, like: word }),
  beforeLoad: async () => {
    await Promise.all([needWords("jobs"), needWords("newJob"), needWords("training")]);
  },
  loader: async ({ context: { client, me } }) => {
    tenantOf(me);
    await client.ensureQueryData(baseModels);
  },
  component: NewTrainingPage,
});
