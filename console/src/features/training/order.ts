import type { JobLevel, NewJob, UploadId } from "@/api/generated/types";
import type { PlainKey } from "@/i18n";
import { parseAmount } from "@/lib/money";

export const FEWEST = 3;
export const MOST = 5;
const MOST_STEPS = 4000;
const MOST_RANK = 64;

/** The name of the base model that workers use when none is named. */
export const DEFAULT_BASE = "default";

/** What the form holds. Names are those of the API's fields, so that its refusals stand at them. */
export interface Draft {
  /** Pictures are held by their uploads; this is where a refusal stands. */
  "parameters.images": string;
  "parameters.theme": string;
  "parameters.token": string;
  "parameters.name": string;
  "parameters.base_model": string;
  "parameters.steps": string;
  "parameters.rank": string;
  level: JobLevel;
  "max_cost.amount": string;
}

export const emptyDraft = (base: string): Draft => ({
  "parameters.images": "",
  "parameters.theme": "",
  "parameters.token": "sks",
  "parameters.name": "",
  "parameters.base_model": base,
  "parameters.steps": "400",
  "parameters.rank": "8",
  level: "ordinary",
  "max_cost.amount": "",
});

/** As another training was asked for. Its pictures are not there any more. */
export function draftLike({ parameters, level, max_cost }: NewJob): Draft {
  const text = (name: string, usual: string) => {
    const value = parameters[name];
    return typeof value === "string" || typeof value === "number" ? String(value) : usual;
  };
  const usual = emptyDraft(DEFAULT_BASE);
  return {
    ...usual,
    "parameters.theme": text("theme", ""),
    "parameters.token": text("token", usual["parameters.token"]),
    "parameters.name": text("name", ""),
    "parameters.base_model": text("base_model", DEFAULT_BASE),
    "parameters.steps": text("steps", usual["parameters.steps"]),
    "parameters.rank": text("rank", usual["parameters.rank"]),
    level: level ?? usual.level,
    "max_cost.amount": max_cost?.amount ?? "",
  };
}

/** The request body. */
export function orderOf(draft: Draft, images: readonly UploadId[], currency: string): NewJob {
  const base = draft["parameters.base_model"];
  const name = draft["parameters.name"].trim();
  const limit = draft["max_cost.amount"].trim();
  return {
    application: "dreambooth",
    method: "train",
    parameters: {
      images,
      theme: draft["parameters.theme"].trim(),
      token: draft["parameters.token"].trim(),
      ...(name && { name }),
      ...(base !== DEFAULT_BASE && { base_model: base }),
      steps: Number(draft["parameters.steps"]),
      rank: Number(draft["parameters.rank"]),
    },
    level: draft.level,
    ...(limit && { max_cost: { amount: limit, currency } }),
  };
}

/** What decides time and price: texts are left out, so that typing them asks nothing. */
export const quotedPart = (draft: Draft, images: readonly UploadId[]): NewJob =>
  orderOf(
    {
      ...draft,
      "parameters.theme": "subject",
      "parameters.token": "sks",
      "parameters.name": "",
      "max_cost.amount": "",
    },
    images,
    "",
  );

const whole = (text: string, most: number) =>
  /^\d{1,4}$/.test(text.trim()) && Number(text) >= 1 && Number(text) <= most;

/** Whether a quote can be asked for. */
export const canQuote = (draft: Draft, pictures: number) =>
  pictures >= FEWEST &&
  pictures <= MOST &&
  whole(draft["parameters.steps"], MOST_STEPS) &&
  whole(draft["parameters.rank"], MOST_RANK);

function isAmount(text: string): boolean {
  if (!/^\d+(\.\d{1,6})?$/.test(text)) return false;
  return parseAmount(text) > 0n;
}

/** What is missing before anything is sent. */
export function missingOf(draft: Draft, pictures: number): { [Name in keyof Draft]?: PlainKey } {
  const theme = draft["parameters.theme"].trim();
  const limit = draft["max_cost.amount"].trim();
  return {
    ...((pictures < FEWEST || pictures > MOST) && { "parameters.images": "training.picturesWrong" }),
    ...((!theme || theme.length > 100) && { "parameters.theme": "training.themeWrong" }),
    ...(!/^[A-Za-z0-9]{1,32}$/.test(draft["parameters.token"].trim()) && {
      "parameters.token": "training.tokenWrong",
    }),
    ...(draft["parameters.name"].trim().length > 100 && { "parameters.name": "training.nameWrong" }),
    ...(!whole(draft["parameters.steps"], MOST_STEPS) && { "parameters.steps": "training.stepsWrong" }),
    ...(!whole(draft["parameters.rank"], MOST_RANK) && { "parameters.rank": "training.rankWrong" }),
    ...(limit && !isAmount(limit) && { "max_cost.amount": "training.limitWrong" }),
  };
}
