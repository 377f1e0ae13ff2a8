import type { JobLevel, Model, NewJob } from "@/api/generated/types";
import type { PictureParameters } from "@/domain/jobs/parameters";
import type { PlainKey } from "@/i18n";

/** Names are those of the body, so that refusals of the API find their field. */
export interface Draft {
  "parameters.prompt": string;
  "parameters.negative_prompt": string;
  "parameters.model": string;
  "parameters.models": { id: string; weight: string }[];
  "parameters.width": string;
  "parameters.height": string;
  "parameters.images": string;
  "parameters.seed": string;
  "parameters.steps": string;
  "parameters.cfg_scale": string;
  "parameters.denoising_strength": string;
  level: JobLevel;
  /** Empty: where it starts first. */
  pool: string;
  "max_cost.amount": string;
}

export const DEFAULT_MODEL = "default";

export const emptyDraft: Draft = {
  "parameters.prompt": "",
  "parameters.negative_prompt": "",
  "parameters.model": DEFAULT_MODEL,
  "parameters.models": [],
  "parameters.width": "768",
  "parameters.height": "768",
  "parameters.images": "1",
  "parameters.seed": "",
  "parameters.steps": "20",
  "parameters.cfg_scale": "7",
  "parameters.denoising_strength": "0.75",
  level: "ordinary",
  pool: "",
  "max_cost.amount": "",
};

/** The form as another job was asked for, but for its seed: the same seed makes the same pictures. */
export function draftLike(known: PictureParameters, order: Partial<NewJob> | undefined): Draft {
  const text = (value: number | null, standard: string) => (value === null ? standard : String(value));
  return {
    ...emptyDraft,
    "parameters.prompt": known.prompt,
    "parameters.negative_prompt": known.negative_prompt,
    "parameters.model": known.model ?? DEFAULT_MODEL,
    "parameters.models": known.models.map(({ id, weight }) => ({ id, weight: String(weight) })),
    "parameters.width": text(known.width, emptyDraft["parameters.width"]),
    "parameters.height": text(known.height, emptyDraft["parameters.height"]),
    "parameters.images": text(known.images, emptyDraft["parameters.images"]),
    "parameters.steps": text(known.steps, emptyDraft["parameters.steps"]),
    "parameters.cfg_scale": text(known.cfg_scale, emptyDraft["parameters.cfg_scale"]),
    level: order?.level ?? emptyDraft.level,
    "max_cost.amount": order?.max_cost?.amount ?? "",
  };
}

/** For pictures with a model of the studio: its own base model draws them. */
export const draftWith = ({ id, base_model }: Pick<Model, "id" | "base_model">): Draft => ({
  ...emptyDraft,
  "parameters.model": base_model,
  "parameters.models": [{ id, weight: "0.8" }],
});

/** What the API takes; `image` makes the new ones from a picture. */
export function orderOf(draft: Draft, currency: string, image: string | undefined): NewJob {
  const seed = draft["parameters.seed"].trim();
  const negative = draft["parameters.negative_prompt"].trim();
  const models = draft["parameters.models"].filter(({ id }) => id);
  const limit = draft["max_cost.amount"].trim();
  return {
    application: "stable-diffusion",
    method: image ? "img2img" : "txt2img",
    parameters: {
      prompt: draft["parameters.prompt"].trim(),
      ...(negative && { negative_prompt: negative }),
      ...(draft["parameters.model"] !== DEFAULT_MODEL && { model: draft["parameters.model"] }),
      ...(models.length > 0 && {
        models: models.map(({ id, weight }) => ({ id, weight: Number(weight) })),
      }),
      width: Number(draft["parameters.width"]),
      height: Number(draft["parameters.height"]),
      images: Number(draft["parameters.images"]),
      steps: Number(draft["parameters.steps"]),
      cfg_scale: Number(draft["parameters.cfg_scale"]),
      ...(seed && { seed: Number(seed) }),
      ...(image && { image, denoising_strength: Number(draft["parameters.denoising_strength"]) }),
    },
    level: draft.level,
    ...(draft.pool && { pool: draft.pool }),
    ...(limit && { max_cost: { amount: limit, currency } }),
  };
}

/** What decides about time and price: words and seed do not, nor the limit. */
export function quotedPart(order: NewJob): NewJob {
  const { negative_prompt: _, seed: __, ...parameters } = order.parameters;
  const { max_cost: ___, ...rest } = order;
  return { ...rest, parameters: { ...parameters, prompt: "a picture" } };
}

const isWhole = (text: string) => /^\d+$/.test(text.trim());
const isWithin = (text: string, low: number, high: number) =>
  text.trim() !== "" && Number(text) >= low && Number(text) <= high;

const isEdge = (text: string) => isWhole(text) && isWithin(text, 64, 2048) && Number(text) % 8 === 0;

/** What is missing or wrong, before anything is sent. */
export function mistakesOf(draft: Draft, hasImage: boolean): Partial<Record<keyof Draft, PlainKey>> {
  const seed = draft["parameters.seed"].trim();
  const prompt = draft["parameters.prompt"].trim();
  const limit = draft["max_cost.amount"].trim();
  const wrong: [keyof Draft, boolean, PlainKey][] = [
    ["parameters.prompt", prompt === "", "newJob.promptMissing"],
    ["parameters.prompt", prompt.length > 4000, "newJob.promptLong"],
    ["parameters.negative_prompt", draft["parameters.negative_prompt"].length > 4000, "newJob.promptLong"],
    ["parameters.width", !isEdge(draft["parameters.width"]), "newJob.edgeWrong"],
    ["parameters.height", !isEdge(draft["parameters.height"]), "newJob.edgeWrong"],
    [
      "parameters.seed",
      seed !== "" && !(isWhole(seed) && isWithin(seed, 0, 2 ** 32 - 1)),
      "newJob.seedWrong",
    ],
    [
      "parameters.steps",
      !(isWhole(draft["parameters.steps"]) && isWithin(draft["parameters.steps"], 1, 150)),
      "newJob.stepsWrong",
    ],
    ["parameters.cfg_scale", !isWithin(draft["parameters.cfg_scale"], 1, 30), "newJob.guidanceWrong"],
    [
      "parameters.denoising_strength",
      hasImage && !isWithin(draft["parameters.denoising_strength"], 0, 1),
      "newJob.strengthWrong",
    ],
    [
      "parameters.models",
      draft["parameters.models"].some(({ weight }) => !isWithin(weight, -2, 2)),
      "newJob.weightWrong",
    ],
    ["max_cost.amount", limit !== "" && !/^\d+(\.\d{1,6})?$/.test(limit), "newJob.limitWrong"],
  ];
  const found: Partial<Record<keyof Draft, PlainKey>> = {};
  for (const [name, isWrong, text] of wrong) if (isWrong) found[name] ??= text;
  return found;
}

/** Whether the numbers can be quoted. */
export const isQuotable = (draft: Draft) =>
  Object.keys(mistakesOf({ ...draft, "parameters.prompt": "a", "max_cost.amount": "" }, true)).length === 0;

export const shapes = { square: 1, portrait: 4 / 5, landscape: 3 / 2, wide: 16 / 9 } as const;
export type Shape = keyof typeof shapes;
export const scales = { small: 512, medium: 768, large: 1024 } as const;
export type Scale = keyof typeof scales;

const toGrid = (edge: number) => String(Math.min(2048, Math.round(edge / 8) * 8));

/** About as many pixels as a square of the scale, in the shape. */
export const sizeFor = (shape: Shape, scale: Scale) => ({
  width: toGrid(scales[scale] * Math.sqrt(shapes[shape])),
  height: toGrid(scales[scale] / Math.sqrt(shapes[shape])),
});

/** The shape and the scale of a size; null of one's own. */
export function shapeOf(width: string, height: string): { shape: Shape; scale: Scale } | null {
  for (const shape of Object.keys(shapes) as Shape[])
    for (const scale of Object.keys(scales) as Scale[]) {
      const size = sizeFor(shape, scale);
      if (size.width === width && size.height === height) return { shape, scale };
    }
  return null;
}
