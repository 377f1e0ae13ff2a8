import type { Job, JobLevel, JobQuote, NewJob } from "../../src/api/generated/types";
import type { Backend } from "../backend.ts";
import { Refusal } from "../types.ts";
import { amount, factors, workOf } from "./data.ts";

export const invalid = (pointer: string, detail: string) =>
  new Refusal("invalid-field", { errors: [{ pointer, detail }] });

const kinds: Record<string, Job["kind"]> = {
  "stable-diffusion.txt2img": "generation",
  "stable-diffusion.img2img": "generation",
  "dreambooth.train": "training",
  "command.run": "batch",
};

/** Seconds and prices of an order, on each specification that it may get. */
export function priced({ jobs, baseModels }: Backend, order: NewJob) {
  const kind = kinds[`${order.application}.${order.method}`];
  if (!kind) throw invalid("/method", "no application has this method");
  const usable = jobs.pools.filter((it) => it.applications.includes(order.application));
  const named = order.pool ? usable.find((it) => it.name === order.pool) : undefined;
  if (order.pool && !named)
    throw invalid("/pool", "no pool of this name runs the application for the tenant");
  const isTraining = kind === "training";
  const model = isTraining ? order.parameters.base_model : order.parameters.model;
  const loadable = baseModels.filter((it) => it.kind === (isTraining ? "base_model" : "checkpoint"));
  const having = usable.filter(
    (it) =>
      !model || model === "default" || loadable.some((one) => one.pool === it.name && one.name === model),
  );
  const pool = named ?? having[0];
  if (!pool || (named && !having.includes(named)))
    throw new Refusal("model-missing", { members: { models: loadable.map((it) => it.name) } });
  const level = order.level ?? "ordinary";
  const p50 = workOf(order.method, order.parameters);
  const costs = pool.gpu_specs.map((gpu_spec) => {
    const hourly = pool.dedicated ? 0 : Number(jobs.prices[gpu_spec] ?? 0) * factors[level];
    return {
      gpu_spec,
      currency: "USD",
      p50: amount((hourly * p50) / 3600),
      p90: amount((hourly * p50 * 1.6) / 3600),
    };
  });
  return { kind, pool, level, p50, costs };
}

const waits: Record<JobLevel, number> = { urgent: 4, ordinary: 40, background: 900 };
export const at = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
export const range = (p50: number) => ({ p10: at(p50 * 0.6), p50: at(p50), p90: at(p50 * 1.8) });

export function quoteOf(backend: Backend, order: NewJob): JobQuote {
  const { p50, costs, level } = priced(backend, order);
  return {
    expected: { start: range(waits[level]), end: range(waits[level] + 8 + p50) },
    work_seconds_p50: p50,
    work_seconds_p90: p50 * 1.6,
    costs,
  };
}
