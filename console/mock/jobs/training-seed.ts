import type { Job, JobAttempt, JobEventType, JobState, TenantId } from "../../src/api/generated/types";
import { makeSortedId } from "../ids.ts";
import { hoursAgo } from "../times.ts";
import type { KeptJob } from "./data.ts";
import { eventOf } from "./make.ts";
import { type Lesson, resultsOf } from "./training.ts";

const minutes = (from: string, more: number) => new Date(Date.parse(from) + more * 60_000).toISOString();

interface Draft {
  lesson: Lesson;
  /** Hours since it was submitted. */
  ago: number;
  state: JobState;
  /** Minutes that it waited, and that it has worked. */
  waited?: number;
  worked?: number;
  spec?: "4090-small-4-1" | "l40s-small-8-1";
  more?: Partial<Job>;
  attempts?: (first: JobAttempt) => JobAttempt[];
  log?: string;
}

const prices = { "4090-small-4-1": "0.74", "l40s-small-8-1": "1.12" };

/** Seconds of each step. */
const PACE = 0.42;

const costOf = (price: string, seconds: number) => ((Number(price) * seconds) / 3600).toFixed(6);

const stateOf: Partial<Record<JobState, JobAttempt["state"]>> = {
  running: "open",
  succeeded: "succeeded",
  cancelled: "cancelled",
};

function attemptOf({ ago, state, waited = 1, worked = 0, spec = "4090-small-4-1" }: Draft): JobAttempt {
  const assigned_at = minutes(hoursAgo(ago), waited);
  const isOpen = state === "running";
  const seconds = Math.round(worked * 60);
  const isCharged = state === "succeeded" || state === "cancelled";
  return {
    attempt: 1,
    state: stateOf[state] ?? "failed",
    problem: null,
    gpu_spec: spec,
    assigned_at,
    begun_at: minutes(assigned_at, 0.1),
    working_at: minutes(assigned_at, 0.6),
    ended_at: isOpen ? null : minutes(assigned_at, 0.6 + worked),
    price_per_hour: prices[spec],
    currency: "USD",
    level_factor: "1",
    seconds: isOpen ? null : isCharged ? seconds : 0,
    cost: isOpen ? null : isCharged ? costOf(prices[spec], seconds) : "0",
    uncharged_seconds: isOpen ? null : isCharged ? 36 : 36 + seconds,
    uncharged_reason: isOpen ? null : isCharged ? "loading" : "job_failed",
  };
}

type Happened = [type: JobEventType, at: string | null, state: JobState];

const ends: Partial<Record<JobState, JobEventType>> = {
  succeeded: "job.succeeded",
  failed: "job.failed",
  cancelled: "job.cancelled",
};

/** What happened to it, oldest first. */
function storyOf({ state, created_at, ended_at }: Job, attempts: readonly JobAttempt[]): Happened[] {
  const end = ends[state];
  return [
    ["job.submitted", created_at, "queued"],
    ...attempts.toReversed().flatMap((it): Happened[] => [
      ["job.assigned", it.assigned_at, "assigned"],
      ["job.started", it.begun_at, "running"],
      ...(it.state === "preempted"
        ? ([
            ["job.preempting", it.ended_at && minutes(it.ended_at, -0.3), "running"],
            ["job.requeued", it.ended_at, "queued"],
          ] satisfies Happened[])
        : []),
    ]),
    ...(end ? ([[end, ended_at, state]] satisfies Happened[]) : []),
  ];
}

function make(n: number, tenant_id: TenantId, draft: Draft): KeptJob {
  const { lesson, ago, state, more = {}, log = "" } = draft;
  const { scene: _, images: __, ...parameters } = lesson;
  const created_at = hoursAgo(ago);
  const first = attemptOf(draft);
  const attempts = state === "queued" ? [] : (draft.attempts?.(first) ?? [first]);
  const ended_at = attempts[0]?.ended_at ?? null;
  const paid = attempts.reduce((sum, it) => sum + Number(it.cost ?? 0), 0);
  const it: Job = {
    id: makeSortedId<Job["id"]>("job", created_at, 5000 + n),
    application: "dreambooth",
    method: "train",
    kind: "training",
    level: "ordinary",
    priority: 5,
    group: null,
    group_mode: null,
    state,
    reason: null,
    not_before: null,
    deadline: null,
    req_no: null,
    attempts: attempts.length,
    progress: state === "queued" ? null : { phase: "working", step: 0, steps: lesson.steps },
    problem: null,
    model_id: null,
    gang: null,
    report_progress: false,
    max_cost: null,
    cost: ended_at
      ? { amount: paid.toFixed(6), currency: "USD", seconds: Math.round((draft.worked ?? 0) * 60) }
      : null,
    created_at,
    started_at: attempts.at(-1)?.begun_at ?? null,
    ended_at,
    ...more,
  };
  const since = state === "running" && first.working_at;
  const kept: KeptJob = {
    tenant_id,
    it,
    parameters,
    pool: "training",
    lesson,
    attempts,
    artifacts: state === "succeeded" ? resultsOf(lesson, n, ended_at ?? created_at) : [],
    events: [],
    log,
    ...(since && { works: { since: Date.parse(since), pace: PACE } }),
    ...(state === "queued" && {
      waits: { code: "busy", message: "All workers that fit are busy.", position: 2 },
    }),
  };
  for (const [type, at, then] of storyOf(it, attempts))
    kept.events.push({
      ...eventOf(kept, type),
      time: at ?? created_at,
      state: then,
      attempts: type === "job.submitted" ? 0 : 1,
      reason: type === "job.requeued" ? "preempted" : null,
      problem: type === "job.failed" ? it.problem : null,
    });
  return kept;
}

const lesson = (
  name: string,
  theme: string,
  base_model: string,
  steps: number,
  scene: Lesson["scene"],
): Lesson => ({ name, theme, base_model, steps, scene, images: 5, rank: 16 });

const unreadable =
  "Traceback (most recent call last):\n" +
  '  File "/app/train.py", line 41, in main\n    pictures = dataset.load(job.uploads)\n' +
  '  File "/app/dataset.py", line 58, in load\n    raise InvalidInput(f"{path.name} cannot be read as a picture")\n' +
  "InvalidInput: crane-04.png cannot be read as a picture\n";

const drafts: Draft[] = [
  { lesson: lesson("costume-sheets", "costume", "sdxl-1.0", 800, "captain"), ago: 0.12, state: "queued" },
  {
    lesson: lesson("heroine-v3", "woman", "sdxl-1.0", 3000, "heroine"),
    ago: 0.2,
    state: "running",
    waited: 2,
    more: { max_cost: { amount: "1.50", currency: "USD" } },
    log: "base model sdxl-1.0, rank 16, 5 pictures at 1024 px\nlatents are ready, the text encoders have left the GPU\n",
  },
  {
    lesson: lesson("gouache-v4", "gouache painting", "sdxl-1.0", 2000, "orchard"),
    ago: 27,
    state: "succeeded",
    waited: 4,
    worked: 15.2,
  },
  {
    lesson: lesson("dock-cranes", "harbour crane", "sdxl-1.0", 1200, "winter"),
    ago: 30,
    state: "failed",
    worked: 0,
    more: {
      problem: { code: "invalid-parameters", message: "crane-04.png cannot be read as a picture" },
      progress: { phase: "loading", step: 0, steps: 1200 },
    },
    log: unreadable,
  },
  {
    lesson: lesson("heroine-v2", "woman", "sdxl-1.0", 2400, "heroine"),
    ago: 76,
    state: "succeeded",
    waited: 9,
    worked: 17.4,
    attempts: (last) => [
      { ...last, attempt: 2, assigned_at: minutes(last.assigned_at, 11) },
      {
        ...last,
        state: "preempted",
        ended_at: minutes(last.assigned_at, 7.1),
        seconds: 301,
        cost: costOf("0.74", 301),
        uncharged_seconds: 125,
        uncharged_reason: "preempted",
      },
    ],
  },
  {
    lesson: lesson("night-city-v2", "city at night", "sdxl-1.0", 2000, "grove"),
    ago: 170,
    state: "succeeded",
    worked: 14.8,
    spec: "l40s-small-8-1",
  },
  {
    lesson: lesson("ink-lines", "ink drawing", "sd-1.5", 4000, "glaze"),
    ago: 200,
    state: "failed",
    worked: 24,
    more: {
      max_cost: { amount: "0.30", currency: "USD" },
      problem: { code: "max-cost-reached", message: "The job has cost as much as it may." },
      progress: { phase: "working", step: 3480, steps: 4000 },
    },
    // what it has worked is charged
    attempts: (first) => [
      {
        ...first,
        seconds: 1440,
        cost: costOf("0.74", 1440),
        uncharged_seconds: 36,
        uncharged_reason: "loading",
      },
    ],
  },
  {
    lesson: lesson("crew-faces", "man", "sdxl-1.0", 1500, "captain"),
    ago: 262,
    state: "cancelled",
    worked: 3.5,
    more: { progress: { phase: "working", step: 512, steps: 1500 } },
  },
  {
    lesson: lesson("glazed-pots", "pottery", "sd-1.5", 1200, "glaze"),
    ago: 400,
    state: "succeeded",
    worked: 6.1,
  },
];

/** Trainings of the studio, newest first. */
export const trainingsSeed = (studio: TenantId): KeptJob[] =>
  drafts.map((draft, i) => make(i + 1, studio, draft));
