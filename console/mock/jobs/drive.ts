import type { JobAttempt, JobEventType, ModelId } from "../../src/api/generated/types";
import type { Backend } from "../backend.ts";
import { makeSortedId } from "../ids.ts";
import { now } from "../times.ts";
import { amount, factors, type KeptJob, sizeOf, workOf } from "./data.ts";
import { eventOf, filesOf } from "./make.ts";
import { type Lesson, modelFrom, resultsOf } from "./training.ts";

/** How long the parts of a job take here, in milliseconds. */
const QUEUE = 700;
const LOAD = 700;
const WORK = 2600;
const TRAINING = 6000;
const STOP = 800;

/** Writes down what happened, and tells it to everybody of the tenant who follows. */
export function tell({ jobs, streams }: Backend, kept: KeptJob, type: JobEventType) {
  const event = eventOf(kept, type);
  kept.events.push(event);
  jobs.events.push(event);
  for (const stream of streams)
    if (stream.tenant_id === kept.tenant_id) stream.tell("jobs", jobs.events.length, event);
}

const stepsOf = ({ it, lesson, parameters }: KeptJob) => {
  if (lesson) return lesson.steps;
  const { steps, images } = sizeOf(parameters);
  return it.kind === "generation" ? steps * images : steps;
};

/** How far it is now. */
export function progressOf(kept: KeptJob) {
  if (kept.it.state !== "running" || !kept.works) return kept.it.progress;
  const steps = stepsOf(kept);
  const done = Math.floor((Date.now() - kept.works.since) / 1000 / kept.works.pace);
  return { phase: "working" as const, step: Math.min(steps - 1, Math.max(0, done)), steps };
}

/** Seconds that are charged. */
function secondsOf({ it, parameters, works }: KeptJob, state: JobAttempt["state"]): number {
  if (state === "succeeded") return Math.max(1, Math.round(workOf(it.method, parameters)));
  return state === "cancelled" && works ? Math.round((Date.now() - works.since) / 1000) : 0;
}

function endAttempt(backend: Backend, kept: KeptJob, state: "succeeded" | "failed" | "cancelled") {
  const attempt = kept.attempts[0];
  if (!attempt) return;
  const isPaid = state !== "failed";
  const seconds = secondsOf(kept, state);
  const price = backend.jobs.prices[attempt.gpu_spec] ?? "0";
  const cost = amount((seconds * Number(price) * factors[kept.it.level]) / 3600);
  Object.assign(attempt, {
    state,
    problem: kept.it.problem,
    ended_at: now(),
    seconds,
    cost,
    uncharged_seconds: 6,
    uncharged_reason: isPaid ? "loading" : "failed",
  });
  kept.it.cost = { amount: cost, currency: "USD", seconds };
}

/** Does it later, if the job is still as it was. */
function later(kept: KeptJob, milliseconds: number, act: () => void) {
  const { state, attempts } = kept.it;
  setTimeout(() => {
    if (kept.it.state === state && kept.it.attempts === attempts) act();
  }, milliseconds);
}

/** From the queue to its end, as the platform goes. */
export function drive(backend: Backend, kept: KeptJob) {
  later(kept, QUEUE, () => {
    const pool = backend.jobs.pools.find((it) => it.name === kept.pool);
    const gpu_spec = pool?.gpu_specs[0] ?? "3080-small-4-1";
    kept.it.state = "assigned";
    kept.it.attempts++;
    kept.attempts.unshift({
      attempt: kept.it.attempts,
      state: "open",
      problem: null,
      gpu_spec,
      assigned_at: now(),
      begun_at: null,
      working_at: null,
      ended_at: null,
      price_per_hour: backend.jobs.prices[gpu_spec] ?? null,
      currency: "USD",
      level_factor: String(factors[kept.it.level]),
      seconds: null,
      cost: null,
      uncharged_seconds: null,
      uncharged_reason: null,
    });
    tell(backend, kept, "job.assigned");
    later(kept, 300, () => begin(backend, kept));
  });
}

const logOf = ({ base_model, rank, images }: Lesson) =>
  `base model ${base_model}, rank ${rank}, ${images} pictures\n`;

function begin(backend: Backend, kept: KeptJob) {
  kept.it.state = "running";
  kept.it.started_at ??= now();
  kept.it.progress = { phase: "loading", step: 0, steps: stepsOf(kept) };
  const attempt = kept.attempts[0];
  if (attempt) attempt.begun_at = now();
  tell(backend, kept, "job.started");
  later(kept, LOAD, () => {
    if (attempt) attempt.working_at = now();
    const work = kept.lesson ? TRAINING : WORK;
    kept.works = { since: Date.now(), pace: work / 1000 / stepsOf(kept) };
    if (kept.lesson) kept.log = logOf(kept.lesson);
    if (kept.it.method === "run") kept.log = "loading weights\nframe 1 of 96\n";
    later(kept, work, () => end(backend, kept));
  });
}

/** So many pixels have no room in the memory of its GPU. */
const MEMORY = 2048 * 2048 * 4;

function end(backend: Backend, kept: KeptJob) {
  const { width, height, images } = sizeOf(kept.parameters);
  const isTooLarge = kept.it.kind === "generation" && width * height * images > MEMORY;
  kept.it.ended_at = now();
  if (isTooLarge) {
    kept.it.state = "failed";
    kept.it.problem = {
      code: "out-of-memory",
      message: "CUDA out of memory. Tried to allocate 18.00 GiB. GPU 0 has a total capacity of 9.77 GiB.",
    };
    endAttempt(backend, kept, "failed");
    tell(backend, kept, "job.failed");
    return;
  }
  kept.it.state = "succeeded";
  if (kept.it.kind === "generation") kept.artifacts = filesOf(kept, now());
  if (kept.it.method === "run") kept.log += "frame 96 of 96\nwrote outputs/frames.zip\n";
  if (kept.lesson) leave(backend, kept, kept.lesson);
  endAttempt(backend, kept, "succeeded");
  tell(backend, kept, "job.succeeded");
}

/** A training leaves a model. */
function leave(backend: Backend, kept: KeptJob, lesson: Lesson) {
  const id = makeSortedId<ModelId>("mdl", now(), ++backend.next);
  kept.artifacts = resultsOf(lesson, backend.next, now());
  kept.it.model_id = id;
  backend.models.push(modelFrom(lesson, kept, id, now()));
}

export function cancel(backend: Backend, kept: KeptJob) {
  const { it } = kept;
  if (it.state === "cancelling") return;
  if (it.state === "queued") {
    Object.assign(it, { state: "cancelled", ended_at: now() });
    tell(backend, kept, "job.cancelled");
    return;
  }
  it.progress = progressOf(kept);
  it.state = "cancelling";
  tell(backend, kept, "job.cancelling");
  later(kept, STOP, () => {
    Object.assign(it, { state: "cancelled", ended_at: now() });
    endAttempt(backend, kept, "cancelled");
    tell(backend, kept, "job.cancelled");
  });
}
