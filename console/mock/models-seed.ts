import type {
  BaseModel,
  Deployment,
  DeploymentReason,
  DeploymentState,
  JobId,
  Model,
  ModelId,
  PoolId,
  Storage,
  TenantId,
  Upload,
} from "../src/api/generated/types";
import { makeId, makeSortedId } from "./ids.ts";
import type { KeptJob } from "./jobs/data.ts";
import { modelFrom } from "./jobs/training.ts";
import { daysAgo, now } from "./times.ts";

type OfTenant<Thing> = Thing & { tenant_id: TenantId };

export interface ModelsData {
  models: OfTenant<Model>[];
  deployments: OfTenant<Deployment>[];
  uploads: OfTenant<Upload>[];
  baseModels: BaseModel[];
}

const minutes = (from: string, more: number) => new Date(Date.parse(from) + more * 60_000).toISOString();

const has = (n: number, pool: string, kind: BaseModel["kind"], models: Record<string, number>): BaseModel[] =>
  Object.entries(models).map(([name, workers]) => ({
    name,
    kind,
    pool_id: makeId<PoolId>("pool", n),
    pool,
    workers,
  }));

const baseModels = (): BaseModel[] => [
  ...has(1, "generation", "checkpoint", { "sdxl-1.0": 6, "sd-1.5": 6, "dreamshaper-8": 2 }),
  ...has(2, "generation-large", "checkpoint", { "sdxl-1.0": 2, "flux-schnell": 0 }),
  ...has(4, "training", "base_model", { "sd-1.5": 6, "sdxl-1.0": 4 }),
];

/** The models that trainings have left. Jobs are kept for 90 days, models until they are deleted. */
function modelsOf(studio: TenantId, trainings: readonly KeptJob[]) {
  const models: OfTenant<Model>[] = [];
  for (const [i, kept] of trainings.entries()) {
    const { it, lesson } = kept;
    if (it.state !== "succeeded" || !lesson) continue;
    const at = it.ended_at ?? now();
    it.model_id = makeSortedId<ModelId>("mdl", at, i + 1);
    it.progress = { phase: "uploading", step: lesson.steps, steps: lesson.steps };
    models.push(modelFrom(lesson, kept, it.model_id, at));
  }
  for (const [i, name] of ["matte-skies", "storyboard-marker"].entries()) {
    const at = daysAgo(130 + i * 40);
    const [like] = models;
    if (!like) break;
    models.push({
      ...like,
      tenant_id: studio,
      id: makeSortedId<ModelId>("mdl", at, 70 + i),
      name,
      base_model: i === 0 ? "sdxl-1.0" : "sd-1.5",
      job_id: makeSortedId<JobId>("job", daysAgo(131 + i * 40), 70 + i),
      created_at: at,
      updated_at: at,
    });
  }
  return models;
}

/** Models of the studio, and where they lie. */
export function modelsSeed(
  studio: TenantId,
  jobs: readonly KeptJob[],
  storages: readonly Storage[],
): ModelsData {
  const models = modelsOf(
    studio,
    jobs.filter(({ lesson }) => lesson),
  );
  let n = 0;
  const lay = (
    name: string,
    storage: string,
    days: number,
    state: DeploymentState = "deployed",
    reason: DeploymentReason | null = null,
    message: string | null = null,
  ): OfTenant<Deployment>[] => {
    const model = models.find((it) => it.name === name);
    const volume = storages.find((it) => it.name === storage);
    if (!model || !volume) return [];
    const created_at = daysAgo(days);
    return [
      {
        tenant_id: studio,
        id: makeSortedId("dpl", created_at, ++n),
        model_id: model.id,
        storage_id: volume.id,
        path: `models/Lora/${name}-${String(model.id).slice(-8)}.safetensors`,
        state,
        reason,
        message,
        created_at,
        finished_at: state === "pending" ? null : minutes(created_at, 0.4),
      },
    ];
  };
  const deployments = [
    ...lay("gouache-v4", "act-2-files", 1),
    ...lay("gouache-v4", "shared-models", 0.9),
    ...lay(
      "heroine-v2",
      "texture-refs",
      0.4,
      "failed",
      "volume_full",
      "No space is left on the volume: 0 of 20 GiB are free.",
    ),
    ...lay("heroine-v2", "heroine-sheets", 3),
    ...lay("night-city-v2", "shared-models", 7),
  ];
  return { models, deployments, uploads: [], baseModels: baseModels() };
}
