import type {
  Artifact,
  Job,
  JobAttempt,
  JobEvent,
  JobExplanation,
  TenantId,
  UsablePool,
} from "../../src/api/generated/types";
import type { Lesson } from "./training.ts";
import type { PastUsage } from "./usage-seed.ts";

/** A job with what the API does not tell of it. */
export interface KeptJob {
  tenant_id: TenantId;
  it: Job;
  parameters: Record<string, unknown>;
  pool: string;
  /** Newest first. */
  attempts: JobAttempt[];
  artifacts: Artifact[];
  events: JobEvent[];
  log: string;
  /** Of a training. */
  lesson?: Lesson;
  /** Why it waits, for those of the seed. */
  waits?: Partial<JobExplanation>;
  /** When the work began, and seconds of each step: how far it is follows from the time. */
  works?: { since: number; pace: number };
}

export interface JobsData {
  kept: KeptJob[];
  /** Of all jobs, oldest first; their place is the position in the stream. */
  events: JobEvent[];
  pools: UsablePool[];
  /** What an hour costs, by specification. */
  prices: Record<string, string>;
  /** What jobs cost that are not known any more. */
  past: PastUsage[];
}

export const factors = { urgent: 1.5, ordinary: 1, background: 0.4 };

/** An amount as the API writes it. */
export const amount = (value: number) => String(Number(value.toFixed(6)));

/** Numbers of the parameters of a generation, with the defaults of the service. */
export function sizeOf(parameters: Record<string, unknown>) {
  const number = (name: string, standard: number) => Number(parameters[name] ?? standard);
  return {
    width: number("width", 512),
    height: number("height", 512),
    steps: number("steps", 20),
    images: number("images", 1),
    seed: number("seed", -1),
    cfg_scale: number("cfg_scale", 7),
  };
}

/** Seconds of work that half of such jobs need. */
export function workOf(method: string, parameters: Record<string, unknown>): number {
  if (method === "train") return Number(parameters.steps ?? 400) * 0.45;
  if (method === "run") return 600;
  const { width, height, steps, images } = sizeOf(parameters);
  return ((width * height) / 262_144) * steps * images * 0.11;
}

/** What the engine writes into a picture. */
export function textOf(parameters: Record<string, unknown>, seed: number): string {
  const { width, height, steps, cfg_scale } = sizeOf(parameters);
  const negative = parameters.negative_prompt ? `\nNegative prompt: ${parameters.negative_prompt}` : "";
  const model = parameters.model ?? "sdxl-1.0";
  return `${parameters.prompt}${negative}\nSteps: ${steps}, Sampler: DPM++ 2M, Schedule type: Karras, CFG scale: ${cfg_scale}, Seed: ${seed}, Size: ${width}x${height}, Model hash: 31e35c80fc, Model: ${model}, Version: v1.10.1`;
}
