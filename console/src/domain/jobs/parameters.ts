import type { Job, ModelId, NewJob } from "@/api/generated/types";
import type { PictureText } from "@/api/jobs/picture-text";

/** What a generation was asked for, as far as it is known. */
export interface PictureParameters {
  prompt: string;
  negative_prompt: string;
  model: string | null;
  models: { id: string; weight: number }[];
  width: number | null;
  height: number | null;
  steps: number | null;
  cfg_scale: number | null;
  /** Null for a random one. */
  seed: number | null;
  images: number | null;
  sampler: string | null;
}

const text = (value: unknown) => (typeof value === "string" ? value : "");
const number = (value: unknown) => (typeof value === "number" ? value : null);

function modelsOf(value: unknown): PictureParameters["models"] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((it: unknown) => {
    if (typeof it === "string") return { id: it, weight: 1 };
    const { id, weight } = it as { id?: ModelId; weight?: number };
    return id ? { id, weight: weight ?? 1 } : [];
  });
}

export const isPictures = ({ application }: Pick<Job, "application">) => application === "stable-diffusion";

/** Of a job that this browser has submitted; null for other kinds. */
export function parametersOf(order: NewJob | undefined): PictureParameters | null {
  if (!order || !isPictures(order)) return null;
  const { parameters } = order;
  const seed = number(parameters.seed);
  return {
    prompt: text(parameters.prompt),
    negative_prompt: text(parameters.negative_prompt),
    model: text(parameters.model) || null,
    models: modelsOf(parameters.models),
    width: number(parameters.width),
    height: number(parameters.height),
    steps: number(parameters.steps),
    cfg_scale: number(parameters.cfg_scale),
    seed: seed === null || seed < 0 ? null : seed,
    images: number(parameters.images),
    sampler: null,
  };
}

/** What the file of a picture tells counts more: it has the seed. */
export function withText(known: PictureParameters | null, written: PictureText | null | undefined) {
  if (!written) return known;
  return { ...written, images: known?.images ?? null };
}

/** A name for a job, which has none: its prompt, its command. Null where neither is known. */
export function nameOf(order: NewJob | undefined): string | null {
  if (!order) return null;
  const { prompt, command, theme, name } = order.parameters;
  const words = Array.isArray(command) ? command.join(" ") : text(prompt) || text(name) || text(theme);
  return words.replace(/\s+/g, " ").trim() || null;
}
