import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import type { JobId } from "@/api/generated/types";
import { jobs, movingJobs, waitingJobs } from "@/api/jobs/queries";
import { endedJobs } from "@/api/jobs/requests";
import { tenantOf } from "@/app/needs-tenant";
import { endedFilter } from "@/domain/jobs/filter";
import { JobsPage } from "@/features/jobs/page";
import { needWords } from "@/i18n";
import { manyRows } from "@/ui/table";

const sorts = ["created_at", "-created_at", "ended_at", "-ended_at", "cost", "-cost"] as const;

export const Route = createFileRoute("/_app/jobs/")({
  validateSearch: z.object({
    state: z.optional(z.catch(z.optional(z.string()), undefined)),
    kind: z.optional(z.catch(z.optional(z.enum(["training", "generation", "batch"])), undefined)),
    level: z.optional(z.catch(z.optional(z.enum(["urgent", "ordinary", "background"])), undefined)),
    group: z.optional(z.catch(z.optional(z.string()), undefined)),
    sort: z.optional(z.catch(z.optional(z.enum(sorts)), undefined)),
    // the one whose waiting is explained
    why: z.optional(z.catch(z.optional(z.custom<JobId>((it) => typeof it === "string")), undefined)),
  }),
  beforeLoad: () => needWords("jobs"),
  loaderDeps: ({ search: { why: _, ...filter } }) => filter,
  loader: async ({ context: { client, me }, deps }) => {
    tenantOf(me);
    await Promise.all([
      manyRows.loaded(),
      client.ensureInfiniteQueryData(jobs(endedFilter(deps))),
      // the sentence is about all of them
      client.ensureInfiniteQueryData(jobs(endedJobs)),
      client.ensureInfiniteQueryData(movingJobs),
      client.ensureInfiniteQueryData(waitingJobs),
    ]);
  },
  component: JobsPage,
});
