import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { call } from "@/api/client";
import {
  getJob,
  getJobExplanation,
  getJobLog,
  listBaseModels,
  listJobArtifacts,
  listJobAttempts,
  listJobEvents,
  listJobs,
  listModels,
  listPools,
  quoteJob,
} from "@/api/generated/operations";
import type { JobId, JobState, NewJob } from "@/api/generated/types";
import { inTurn } from "@/lib/turns";
import { askedAt, type JobFilter, jobKeys, newestJob } from "./cache";
import { jobsPage, waiting, withWorker } from "./requests";

/** The tenant's jobs, newest first if the filter names no order. */
export const jobs = (filter: JobFilter = {}) =>
  infiniteQueryOptions({
    queryKey: jobKeys.list(filter),
    queryFn: async ({ pageParam, signal, client }) => {
      const asked = askedAt();
      const page = await call(listJobs, jobsPage(filter, pageParam), { signal });
      return { ...page, items: page.items.map((it) => newestJob(client, it, asked)) };
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });

export const movingJobs = jobs(withWorker);

export const waitingJobs = jobs(waiting);

/** Jobs that made pictures, newest first. */
export const pictureJobs = jobs({ states: ["succeeded"], kind: "generation" });

export const trainings = (state: JobState | undefined) =>
  jobs({ kind: "training", ...(state && { states: [state] }) });

export const job = (id: JobId) =>
  queryOptions({
    queryKey: jobKeys.one(id),
    queryFn: async ({ signal, client }) => {
      const asked = askedAt();
      return newestJob(client, await call(getJob, { path: { id } }, { signal }), asked);
    },
  });

/** What a job has made; it is whole once the job has ended. Lists of many jobs are asked for a few at a time. */
export const artifacts = (id: JobId) =>
  queryOptions({
    queryKey: jobKeys.artifacts(id),
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) =>
      inTurn(
        async () => (await call(listJobArtifacts, { path: { id }, query: { limit: 64 } }, { signal })).items,
      ),
  });

export const attempts = (id: JobId) =>
  queryOptions({
    queryKey: ["job-attempts", id],
    queryFn: async ({ signal }) =>
      (await call(listJobAttempts, { path: { id }, query: { limit: 50 } }, { signal })).items,
  });

/** What happened to a job, newest first. */
export const jobHistory = (id: JobId) =>
  queryOptions({
    queryKey: ["job-history", id],
    queryFn: async ({ signal }) =>
      (await call(listJobEvents, { path: { id }, query: { limit: 100 } }, { signal }))?.items ?? [],
  });

/** Why it waits. It is worked out for each request, so only for a job that somebody looks at. */
export const explanation = (id: JobId) =>
  queryOptions({
    queryKey: ["job-explanation", id],
    staleTime: 5_000,
    queryFn: ({ signal }) => call(getJobExplanation, { path: { id } }, { signal }),
  });

export const jobLog = (id: JobId, attempt?: number) =>
  queryOptions({
    queryKey: ["job-log", id, attempt ?? null],
    queryFn: ({ signal }) =>
      call(getJobLog, { path: { id }, ...(attempt && { query: { attempt } }) }, { signal }),
  });

/** Pools that run jobs of the tenant, oldest first. */
export const pools = queryOptions({
  queryKey: ["pools"],
  queryFn: async ({ signal }) => (await call(listPools, { query: { limit: 200 } }, { signal })).items,
});

/** Checkpoints that jobs can name. */
export const checkpoints = queryOptions({
  queryKey: ["base-models", "checkpoint"],
  queryFn: async ({ signal }) =>
    (await call(listBaseModels, { query: { kind: "checkpoint", limit: 200 } }, { signal })).items,
});

/** The newest models of the tenant, which adapt a checkpoint. */
export const adapters = queryOptions({
  queryKey: ["models", "adapters"],
  queryFn: async ({ signal }) => (await call(listModels, { query: { limit: 200 } }, { signal })).items,
});

/** When it would start and end, and what it would cost. */
export const jobQuote = (body: NewJob) =>
  queryOptions({
    queryKey: ["job-quote", body],
    staleTime: 15_000,
    queryFn: ({ signal }) => call(quoteJob, { body }, { signal }),
  });
