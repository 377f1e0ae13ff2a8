import type { QueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { getJob } from "@/api/generated/operations";
import type { Job, JobId } from "@/api/generated/types";
import { onEvents, readOnceHeard } from "@/api/live";
import { modelsKey } from "@/api/models";
import { askedAt, type JobLists, jobKeys, putJob } from "./cache";
import { moving } from "./states";

/** Events that come together are answered by one reading. */
const TOGETHER = 30;
/** Steps are no events: while a job runs and the page is seen, it is asked for. */
const LOOK = 2000;
/** Above this many the lists are read instead. */
const MANY = 8;

const moves = new Set<Job["state"]>(moving);

const active = (client: QueryClient, queryKey: readonly unknown[]) =>
  client.getQueryCache().findAll({ queryKey, type: "active" }).length > 0;

/** Moving jobs that a page shows. */
function movingShown(client: QueryClient): JobId[] {
  const found = new Set<JobId>();
  for (const query of client.getQueryCache().findAll({ queryKey: jobKeys.lists, type: "active" }))
    for (const page of (query.state.data as JobLists | undefined)?.pages ?? [])
      for (const it of page.items) if (moves.has(it.state)) found.add(it.id);
  for (const query of client.getQueryCache().findAll({ queryKey: ["job"], type: "active" })) {
    const it = query.state.data as Job | undefined;
    if (it && moves.has(it.state)) found.add(it.id);
  }
  return [...found];
}

/** Keeps what is shown of jobs as it is in truth. Returns what ends it. */
export function followJobs(client: QueryClient): () => void {
  const wanted = new Set<JobId>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  const flush = () => {
    timer = undefined;
    if (document.hidden) return;
    const isListed = active(client, jobKeys.lists);
    const ids = [...wanted].filter((id) => isListed || active(client, jobKeys.one(id)));
    wanted.clear();
    if (ids.length > MANY) void client.invalidateQueries({ queryKey: jobKeys.lists });
    else for (const id of ids) void readJob(client, id);
  };
  const soon = () => {
    timer ??= setTimeout(flush, TOGETHER);
  };
  const stopEvents = onEvents(["job"], ({ job_id: id, type, kind }) => {
    for (const name of ["job-history", "job-attempts", "job-explanation"])
      void client.invalidateQueries({ queryKey: [name, id] });
    if (type === "job.succeeded" || type === "job.failed")
      void client.invalidateQueries({ queryKey: jobKeys.artifacts(id) });
    if (type === "job.succeeded" && kind === "training")
      void client.invalidateQueries({ queryKey: modelsKey });
    wanted.add(id);
    soon();
  });
  const look = setInterval(() => {
    if (document.hidden) return;
    const ids = movingShown(client);
    // of many, one reading of those that run tells how far they are
    if (ids.length > MANY)
      return void client.invalidateQueries({ queryKey: jobKeys.list({ states: moving }), exact: true });
    for (const id of ids) wanted.add(id);
    if (wanted.size > 0) soon();
  }, LOOK);
  const stopLive = readOnceHeard(client, [jobKeys.lists, ["job"]]);
  document.addEventListener("visibilitychange", soon);
  return () => {
    stopEvents();
    stopLive();
    clearInterval(look);
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", soon);
  };
}

async function readJob(client: QueryClient, id: JobId) {
  const asked = askedAt();
  try {
    putJob(client, await call(getJob, { path: { id } }), asked);
  } catch {
    // the next event or look asks again
  }
}
