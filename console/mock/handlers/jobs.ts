import type {
  Job,
  JobExplanation,
  JobId,
  JobLevel,
  JobsAlternative,
  NewJob,
} from "../../src/api/generated/types";
import { makeSortedId } from "../ids.ts";
import { amount, type KeptJob, sizeOf } from "../jobs/data.ts";
import { cancel, drive, progressOf, tell } from "../jobs/drive.ts";
import { lessonOf } from "../jobs/lesson.ts";
import { at, invalid, priced, quoteOf, range } from "../jobs/quote.ts";
import { pageOf, several, sortedPage } from "../page.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal, Reply } from "../types.ts";
import { asMember } from "./as-member.ts";

const seen = (kept: KeptJob): Job => ({ ...kept.it, progress: progressOf(kept) });

const own = ({ backend, caller }: Context) =>
  backend.jobs.kept
    .filter((kept) => kept.tenant_id === caller.session.tenant_id)
    .sort((a, b) => (a.it.id < b.it.id ? 1 : -1));

function keptJob(context: Context, id: string): KeptJob {
  const kept = own(context).find(({ it }) => it.id === id);
  if (!kept) throw new Refusal("not-found");
  return kept;
}

const within = (pointer: string, value: number, low: number, high: number) =>
  value >= low && value <= high ? [] : [{ pointer, detail: `must be from ${low} to ${high}` }];

function checkPicture(parameters: Record<string, unknown>) {
  const { width, height, steps, images, cfg_scale } = sizeOf(parameters);
  const prompt = String(parameters.prompt ?? "");
  const errors = [
    ...(prompt.length > 0 && prompt.length <= 4000
      ? []
      : [{ pointer: "/parameters/prompt", detail: "must be 1 to 4000 characters" }]),
    ...within("/parameters/width", width, 64, 2048),
    ...within("/parameters/height", height, 64, 2048),
    ...within("/parameters/steps", steps, 1, 150),
    ...within("/parameters/images", images, 1, 8),
    ...within("/parameters/cfg_scale", cfg_scale, 1, 30),
  ];
  if (errors.length > 0) throw new Refusal("invalid-field", { errors });
}

function create(context: Context & { body: NewJob }): Reply<Job> {
  asMember(context);
  const { backend, body, caller } = context;
  const { kind, pool, level, costs } = priced(backend, body);
  if (kind === "generation") checkPicture(body.parameters);
  const lesson = kind === "training" && lessonOf(context, body);
  const command = body.parameters.command;
  if (kind === "batch" && !(Array.isArray(command) && command.length > 0))
    throw invalid("/parameters/command", "must have 1 to 64 items");
  const least = Math.min(...costs.map((it) => Number(it.p50)));
  if (body.max_cost && Number(body.max_cost.amount) < least)
    throw invalid(
      "/max_cost/amount",
      `half of such jobs cost ${amount(least)} USD or more; see POST /v1/jobs/quote for what the job costs`,
    );
  const created_at = now();
  const it: Job = {
    id: makeSortedId<JobId>("job", created_at, ++backend.next),
    application: body.application,
    method: body.method,
    kind,
    level,
    priority: body.priority ?? 5,
    group: body.group ?? null,
    group_mode: body.group_mode ?? null,
    state: "queued",
    reason: null,
    not_before: null,
    deadline: body.deadline ?? null,
    req_no: body.req_no ?? null,
    attempts: 0,
    progress: null,
    problem: null,
    model_id: null,
    gang: body.gang ?? null,
    report_progress: false,
    max_cost: body.max_cost ?? null,
    cost: null,
    created_at,
    started_at: null,
    ended_at: null,
  };
  const kept: KeptJob = {
    tenant_id: caller.session.tenant_id as KeptJob["tenant_id"],
    it,
    parameters: body.parameters,
    pool: pool.name,
    attempts: [],
    artifacts: [],
    events: [],
    log: "",
    ...(lesson && { lesson }),
  };
  backend.jobs.kept.push(kept);
  tell(backend, kept, "job.submitted");
  drive(backend, kept);
  return new Reply(seen(kept), 201);
}

function elsewhere(context: Context, kept: KeptJob): JobsAlternative[] {
  const order = { ...kept.it, parameters: kept.parameters } as unknown as NewJob;
  const costs = (change: Partial<NewJob>) =>
    priced(context.backend, { ...order, pool: kept.pool, ...change }).costs;
  const other = context.backend.jobs.pools.find(
    (it) => it.name !== kept.pool && it.applications.includes(kept.it.application),
  );
  const way = (pool: string, level: JobLevel, seconds: number): JobsAlternative => ({
    pool,
    level,
    expected_start: at(seconds),
    costs: costs({ pool, level }),
  });
  return [
    ...(kept.it.level === "urgent" ? [] : [way(kept.pool, "urgent", 20)]),
    ...(other ? [way(other.name, kept.it.level, 45)] : []),
  ];
}

function explain(context: Context & { path: { id: JobId } }): JobExplanation {
  const kept = keptJob(context, context.path.id);
  const { it } = kept;
  const base = { job_id: it.id, state: it.state, until: null, ahead_of_own: 0, elsewhere: [] };
  if (it.state !== "queued")
    return {
      ...base,
      code: null,
      message: null,
      position: null,
      expected_start: null,
      expected: null,
      waited_seconds: 0,
    };
  const position = kept.waits?.position ?? 1;
  const isKnown = kept.waits?.code !== "model_missing";
  return {
    ...base,
    code: "busy",
    message: "All workers that fit are busy.",
    position: isKnown ? position : null,
    expected_start: isKnown ? at(position * 70) : null,
    expected: isKnown
      ? { start: range(position * 70), end: range(position * 70 + 60) }
      : { start: null, end: null },
    waited_seconds: Math.round((Date.now() - Date.parse(it.created_at)) / 1000),
    ...kept.waits,
    elsewhere: isKnown ? elsewhere(context, kept) : [],
  };
}

const ended = new Set<Job["state"]>(["succeeded", "failed", "cancelled", "expired"]);

export const jobHandlers = {
  listJobs: (context) => {
    const { kind, level, application, group } = context.query;
    const states = several(context.query.state);
    const found = own(context)
      .map(seen)
      .filter(
        (it) =>
          (states.length === 0 || states.includes(it.state)) &&
          (!kind || it.kind === kind) &&
          (!level || it.level === level) &&
          (!application || it.application === application) &&
          (!group || it.group === group),
      );
    return sortedPage(found, context.query, {
      ended_at: (it) => it.ended_at ?? "9",
      cost: (it) => Number(it.cost?.amount ?? 0),
    });
  },
  createJob: create,
  quoteJob: ({ backend, body }) => quoteOf(backend, body),
  getJob: (context) => seen(keptJob(context, context.path.id)),
  cancelJob: (context) => {
    asMember(context);
    const kept = keptJob(context, context.path.id);
    if (ended.has(kept.it.state) && kept.it.state !== "cancelled")
      throw new Refusal("job-ended", { members: { state: kept.it.state } });
    if (!ended.has(kept.it.state)) cancel(context.backend, kept);
    return seen(kept);
  },
  updateJob: (context) => {
    asMember(context);
    const kept = keptJob(context, context.path.id);
    const { it } = kept;
    if (ended.has(it.state)) throw new Refusal("job-ended", { members: { state: it.state } });
    if (it.state !== "queued") throw new Refusal("job-not-queued", { members: { state: it.state } });
    const { priority, level, deadline } = context.body;
    it.priority = priority ?? it.priority;
    it.level = level ?? it.level;
    it.deadline = deadline ?? it.deadline;
    tell(context.backend, kept, "job.changed");
    // an urgent one waits no longer
    if (level === "urgent") drive(context.backend, kept);
    return seen(kept);
  },
  getJobExplanation: explain,
  getJobLog: (context) => {
    const kept = keptJob(context, context.path.id);
    return {
      attempt: Number(context.query?.attempt ?? kept.it.attempts),
      text: kept.log,
      bytes: kept.log.length,
      updated_at: kept.log ? (kept.it.ended_at ?? now()) : null,
    };
  },
  listJobArtifacts: (context) => pageOf(keptJob(context, context.path.id).artifacts, context.query),
  listJobAttempts: (context) => pageOf(keptJob(context, context.path.id).attempts, context.query),
  listJobEvents: (context) => pageOf(keptJob(context, context.path.id).events.toReversed(), context.query),
  listTenantJobEvents: (context) => {
    const { type, kind, state } = context.query ?? {};
    const found = context.backend.jobs.events.filter(
      (it) =>
        it.tenant_id === context.caller.session.tenant_id &&
        (!type || it.type === type) &&
        (!kind || it.kind === kind) &&
        (!state || it.state === state),
    );
    return pageOf(found.toReversed(), context.query);
  },
  listPools: (context) => pageOf(context.backend.jobs.pools, context.query),
} satisfies Partial<Handlers>;
