import type {
  ArtifactId,
  Job,
  JobEventType,
  JobId,
  JobState,
  TenantId,
  UsablePool,
} from "../../src/api/generated/types";
import { makeId, makeSortedId } from "../ids.ts";
import { amount, factors, type JobsData, type KeptJob, workOf } from "./data.ts";
import { eventOf, filesOf } from "./make.ts";
import { trainingsSeed } from "./training-seed.ts";
import { pastUsage } from "./usage-seed.ts";

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

const pool = (n: number, name: string, gpu_specs: string[], applications: string[], dedicated = false) =>
  ({ id: makeId("pool", n), name, gpu_specs, applications, dedicated }) as UsablePool;

const pools = [
  pool(1, "generation", ["3080-small-4-1", "4090-small-4-1"], ["stable-diffusion"]),
  pool(2, "generation-large", ["l40s-small-8-1"], ["stable-diffusion"]),
  pool(3, "northlight-programs", ["a100-small-4-1"], ["command"], true),
  pool(4, "training", ["4090-small-4-1", "l40s-small-8-1"], ["dreambooth"]),
];

interface Wanted {
  prompt?: string;
  parameters?: Record<string, unknown>;
  application?: string;
  method?: string;
  kind?: Job["kind"];
  pool?: string;
  minutes: number;
  state: JobState;
  more?: Partial<Job>;
  waits?: KeptJob["waits"];
  log?: string;
  pace?: number;
}

const events: Record<JobState, JobEventType[]> = {
  queued: ["job.submitted"],
  assigned: ["job.submitted", "job.assigned"],
  running: ["job.submitted", "job.assigned", "job.started"],
  cancelling: ["job.submitted", "job.assigned", "job.started", "job.cancelling"],
  succeeded: ["job.submitted", "job.assigned", "job.started", "job.succeeded"],
  failed: ["job.submitted", "job.assigned", "job.started", "job.failed"],
  cancelled: ["job.submitted", "job.cancelled"],
  expired: ["job.submitted", "job.expired"],
};

const isOver = (state: JobState) => ["succeeded", "failed", "cancelled", "expired"].includes(state);
const hasRun = (state: JobState) => ["running", "cancelling", "succeeded", "failed"].includes(state);

function make(tenant_id: TenantId, n: number, wanted: Wanted, prices: Record<string, string>): KeptJob {
  const { state, minutes, application = "stable-diffusion", method = "txt2img", more = {} } = wanted;
  const parameters = { prompt: wanted.prompt, width: 1024, height: 640, steps: 30, ...wanted.parameters };
  const created_at = ago(minutes);
  const started_at = hasRun(state) ? ago(minutes - 0.3) : null;
  const seconds = Math.round(workOf(method, parameters));
  const ended_at = isOver(state)
    ? new Date(Date.parse(started_at ?? created_at) + (seconds + 9) * 1000).toISOString()
    : null;
  const where = pools.find((it) => it.name === (wanted.pool ?? "generation"));
  const gpu_spec = where?.gpu_specs[0] ?? "";
  const price = where?.dedicated ? "0" : (prices[gpu_spec] ?? "0");
  const level = more.level ?? "ordinary";
  const isPaid = state === "succeeded";
  const cost = amount((seconds * Number(price) * factors[level]) / 3600);
  const it: Job = {
    id: makeSortedId<JobId>("job", created_at, 4000 + n),
    application,
    method,
    kind: wanted.kind ?? "generation",
    level,
    priority: 5,
    group: null,
    group_mode: null,
    state,
    reason: null,
    not_before: null,
    deadline: null,
    req_no: null,
    attempts: hasRun(state) ? 1 : 0,
    progress: null,
    problem: null,
    model_id: null,
    gang: null,
    report_progress: false,
    max_cost: null,
    cost: hasRun(state)
      ? { amount: isPaid ? cost : "0", currency: "USD", seconds: isPaid ? seconds : 0 }
      : null,
    created_at,
    started_at,
    ended_at,
    ...more,
  };
  const kept: KeptJob = {
    tenant_id,
    it,
    parameters,
    pool: wanted.pool ?? "generation",
    attempts: [],
    artifacts: [],
    events: [],
    log: wanted.log ?? "",
    ...(wanted.waits && { waits: wanted.waits }),
    ...(wanted.pace && { works: { since: Date.parse(started_at ?? created_at), pace: wanted.pace } }),
  };
  if (hasRun(state))
    kept.attempts = [
      {
        attempt: it.attempts,
        state: state === "succeeded" ? "succeeded" : state === "failed" ? "failed" : "open",
        problem: it.problem,
        gpu_spec,
        assigned_at: ago(minutes - 0.15),
        begun_at: started_at,
        working_at: new Date(Date.parse(started_at ?? created_at) + 6000).toISOString(),
        ended_at,
        price_per_hour: price,
        currency: "USD",
        level_factor: String(factors[level]),
        seconds: ended_at ? (isPaid ? seconds : 0) : null,
        cost: ended_at ? (isPaid ? cost : "0") : null,
        uncharged_seconds: ended_at ? (isPaid ? 9 : seconds + 9) : null,
        uncharged_reason: ended_at ? (isPaid ? "loading" : "failed") : null,
      },
    ];
  const last = kept.attempts[0];
  // the tries before it failed in the same way
  for (let n = it.attempts - 1; last && n > 0; n--)
    kept.attempts.push({
      ...last,
      attempt: n,
      state: "failed",
      seconds: 0,
      cost: "0",
      uncharged_seconds: 31,
      uncharged_reason: "failed",
    });
  const times: (string | null)[] = [created_at, ago(minutes - 0.15), started_at, ended_at];
  for (const [i, type] of events[state].entries()) {
    const time = i === events[state].length - 1 && ended_at ? ended_at : (times[i] ?? created_at);
    kept.events.push({ ...eventOf(kept, type), time });
  }
  if (state === "succeeded" && it.kind === "generation")
    kept.artifacts = filesOf(kept, ended_at ?? created_at);
  return kept;
}

const waiting = (waits: KeptJob["waits"]) => waits;
const soon = (minutes: number) => ago(-minutes);

/** Ended pictures, newest first: prompt, size, number. */
const made: [
  prompt: string,
  width: number,
  height: number,
  images: number,
  more?: Record<string, unknown>,
][] = [
  [
    "harbour at dawn, two sailing boats, low sun on calm water, gouache, muted ochre and slate, wide sky",
    1536,
    1024,
    4,
  ],
  ["portrait of the heroine, red coat, plain background", 832, 1040, 2],
  ["green hills after rain, low sun, layered ridges", 1024, 1024, 1],
  ["captain of the ship, beard, navy cap, three-quarter portrait", 832, 1040, 1],
  ["foundry district by night, lit windows, violet haze", 1536, 832, 3],
  ["old forest, light between the trunks, morning fog", 768, 1024, 2],
  ["still life with a blue vase and fruit on a wooden table", 1216, 896, 1],
  ["moon over a calm lake, one boat, gouache", 1216, 832, 2],
  ["desert ridges at sunset, flat shapes", 1344, 768, 2],
  ["city street at night from above, rain", 832, 1216, 1],
  ["portrait of a sailor, weathered face", 832, 1040, 3],
  ["snow on the pass, three ridges, flat winter light", 1344, 768, 1],
  ["forest clearing, one beam of light", 1024, 1024, 1],
  ["props: vase, two pears, a cup", 1024, 768, 2],
];

const seedsOf: Wanted[] = [
  {
    prompt: "snow on the pass, three ridges, flat winter light",
    parameters: { width: 1536, height: 1024, images: 8, model: "sdxl-1.0", seed: 118 },
    minutes: 2.2,
    state: "running",
    pace: 1.4,
  },
  {
    prompt: "ship's crew, character sheet, front, side and back",
    parameters: { width: 1216, height: 832, images: 8 },
    minutes: 6,
    state: "queued",
    waits: waiting({ code: "busy", message: "All workers that fit are busy.", until: soon(3), position: 2 }),
  },
  {
    prompt: "lighthouse on a cliff, storm",
    parameters: { images: 4 },
    minutes: 5,
    state: "queued",
    more: { priority: 3 },
    waits: waiting({
      code: "behind_own",
      message: "1 jobs of the tenant go first.",
      position: 3,
      ahead_of_own: 1,
    }),
  },
  {
    prompt: "texture of old brass, seamless",
    minutes: 18,
    state: "queued",
    more: { level: "background", priority: 1, attempts: 1, reason: "recalled" },
    waits: waiting({
      code: "behind_share",
      message: "Other tenants have used less of their share.",
      position: 9,
    }),
  },
  {
    prompt: "poster, moon above the foundry",
    parameters: { model: "flux-schnell" },
    minutes: 31,
    state: "queued",
    waits: waiting({
      code: "model_missing",
      message: "No worker of the pool has the model that the job names.",
    }),
  },
  {
    application: "command",
    method: "run",
    kind: "batch",
    pool: "northlight-programs",
    parameters: { command: ["python3", "upscale.py", "--scale", "4"] },
    minutes: 210,
    state: "succeeded",
    log: "loading weights\nframe 1 of 96\nframe 48 of 96\nframe 96 of 96\nwrote outputs/frames.zip\n",
  },
  {
    prompt: "panorama of the harbour, enormous detail",
    parameters: { width: 2048, height: 2048, images: 8 },
    minutes: 95,
    state: "failed",
    more: {
      attempts: 2,
      problem: {
        code: "out-of-memory",
        message: "CUDA out of memory. Tried to allocate 18.00 GiB. GPU 0 has a total capacity of 9.77 GiB.",
      },
    },
  },
  { prompt: "turnaround of the captain, six views", minutes: 130, state: "cancelled" },
  {
    prompt: "storyboard, scene 12",
    parameters: { images: 8 },
    minutes: 400,
    state: "expired",
    more: { deadline: ago(340), ended_at: ago(340) },
  },
];

export function jobsSeed(tenant: TenantId, prices: Record<string, string>): JobsData {
  const pictures = made.map(
    ([prompt, width, height, images, more], i): Wanted => ({
      prompt,
      parameters: { width, height, images, seed: 2218841073 + i * 7919, model: "sdxl-1.0", ...more },
      minutes: 14 + i * 23 + (i > 8 ? 900 : 0),
      state: "succeeded",
    }),
  );
  const kept = [
    ...[...seedsOf, ...pictures].map((wanted, i) => make(tenant, i, wanted, prices)),
    ...trainingsSeed(tenant),
  ];
  const archive = kept.find((it) => it.it.method === "run");
  if (archive)
    archive.artifacts = [
      {
        id: makeId<ArtifactId>("art", 7001),
        name: "frames.zip",
        content_type: "application/zip",
        sha256: "0".repeat(64),
        bytes: 48_301_220,
        created_at: archive.it.ended_at ?? archive.it.created_at,
      },
    ];
  const told = kept.flatMap((it) => it.events).sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
  return { kept, events: told, pools, prices, past: pastUsage(tenant, pools) };
}
