import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import type { JobId, ModelId } from "@/api/generated/types";
import { pictureText } from "@/api/jobs/picture-text";
import { adapters, artifacts, checkpoints, job, pools } from "@/api/jobs/queries";
import { model as modelQuery } from "@/api/models";
import { tenantOf } from "@/app/needs-tenant";
import { NewJobPage } from "@/features/new-job/page";
import { needWords } from "@/i18n";

const word = z.optional(z.catch(z.optional(z.string()), undefined));

export const Route = createFileRoute("/_app/jobs/new")({
  validateSearch: z.object({
    kind: z.optional(z.catch(z.optional(z.enum(["program"])), undefined)),
    // as this job was asked for
    like: z.optional(z.catch(z.optional(z.custom<JobId>((it) => typeof it === "string")), undefined)),
    // as this picture of it was made
    picture: word,
    // this picture of it is where the new ones begin
    begin: word,
    pool: word,
    // adapted by this model
    model: z.optional(z.catch(z.optional(z.custom<ModelId>((it) => typeof it === "string")), undefined)),
  }),
  beforeLoad: async () => {
    await needWords("jobs");
    await needWords("newJob");
  },
  loaderDeps: ({ search: { like, picture, model } }) => ({ like, picture, model }),
  loader: async ({ context: { client, me }, deps: { like, picture, model } }) => {
    tenantOf(me);
    await Promise.all([
      client.ensureQueryData(pools),
      client.ensureQueryData(checkpoints),
      client.ensureQueryData(adapters),
      like && client.ensureQueryData(job(like)),
      // one that was deleted is left out
      model && client.prefetchQuery(modelQuery(model)),
    ]);
    if (!like) return;
    const made = await client.ensureQueryData(artifacts(like)).catch(() => []);
    const file = made.find((it) => it.id === picture) ?? made[0];
    if (file) await client.ensureQueryData(pictureText(like, file));
  },
  component: NewJobPage,
});
