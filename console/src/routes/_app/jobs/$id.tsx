import { createFileRoute, redirect } from "@tanstack/react-router";
import { z } from "zod/mini";
import type { JobId } from "@/api/generated/types";
import { artifacts, attempts, job, jobHistory } from "@/api/jobs/queries";
import { tenantOf } from "@/app/needs-tenant";
import { JobPage } from "@/features/job/page";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/jobs/$id")({
  validateSearch: z.object({
    // the picture that is shown large
    picture: z.optional(z.catch(z.optional(z.string()), undefined)),
  }),
  beforeLoad: () => needWords("jobs"),
  loader: async ({ context: { client, me }, params }) => {
    tenantOf(me);
    const id = params.id as JobId;
    void client.prefetchQuery(attempts(id));
    void client.prefetchQuery(jobHistory(id));
    const it = await client.ensureQueryData(job(id));
    if (it.kind === "training") throw redirect({ to: "/training/$id", params: { id }, replace: true });
    if (it.state === "succeeded") void client.prefetchQuery(artifacts(id));
  },
  component: JobPage,
});
