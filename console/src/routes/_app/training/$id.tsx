import { createFileRoute, redirect } from "@tanstack/react-router";
import type { JobId } from "@/api/generated/types";
import { artifacts, attempts, explanation, job, jobHistory, jobLog } from "@/api/jobs/queries";
import { model } from "@/api/models";
import { tenantOf } from "@/app/needs-tenant";
import { TrainingPage } from "@/features/training/run";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/training/$id")({
  beforeLoad: async () => {
    await Promise.all([needWords("jobs"), needWords("training")]);
  },
  loader: async ({ context: { client, me }, params }) => {
    tenantOf(me);
    const id = params.id as JobId;
    void client.prefetchQuery(jobHistory(id));
    void client.prefetchQuery(jobLog(id));
    const [it] = await Promise.all([client.ensureQueryData(job(id)), client.ensureQueryData(attempts(id))]);
    if (it.kind !== "training") throw redirect({ to: "/jobs/$id", params: { id }, replace: true });
    if (it.state === "queued") void client.prefetchQuery(explanation(id));
    if (it.state === "succeeded") void client.prefetchQuery(artifacts(id));
    // its name is the title; one that was deleted has none
    if (it.model_id) await client.prefetchQuery(model(it.model_id));
  },
  component: TrainingPage,
});
