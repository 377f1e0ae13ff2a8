import type { NewPool, Pool, PoolPatch, PoolWorkers, TenantId } from "@/api/generated/types";

export const applicationNames = ["stable-diffusion", "dreambooth", "command"] as const;
/** Runs programs of tenants, in dedicated pools only. */
export const COMMAND = "command";
export const levels = ["urgent", "ordinary", "background"] as const;

/** A pool as its form has it. Names are those of the body's fields. */
export interface Draft {
  name: string;
  gpu_specs: readonly string[];
  tenant_id: TenantId | "";
  dedicated: boolean;
  applications: readonly string[];
  /** Whether the platform runs workers. */
  workers: boolean;
  "workers.service": string;
  /** Empty for the recommended one at the time of the order. */
  "workers.version": string;
  "workers.min": string;
  "workers.max": string;
  "workers.lent_max": string;
  "level_factors.urgent": string;
  "level_factors.ordinary": string;
  "level_factors.background": string;
}

export const emptyDraft: Draft = {
  name: "",
  gpu_specs: [],
  tenant_id: "",
  dedicated: false,
  applications: ["stable-diffusion", "dreambooth"],
  workers: true,
  "workers.service": "",
  "workers.version": "",
  "workers.min": "1",
  "workers.max": "4",
  "workers.lent_max": "0",
  "level_factors.urgent": "1.5",
  "level_factors.ordinary": "1",
  "level_factors.background": "0.4",
};

export const draftOf = (pool: Pool): Draft => ({
  ...emptyDraft,
  name: pool.name,
  gpu_specs: pool.gpu_specs,
  tenant_id: pool.tenant_id ?? "",
  dedicated: pool.dedicated,
  applications: pool.applications,
  workers: pool.workers !== null,
  ...(pool.workers && {
    "workers.service": pool.workers.service,
    "workers.version": pool.workers.version ?? "",
    "workers.min": String(pool.workers.min),
    "workers.max": String(pool.workers.max),
    "workers.lent_max": String(pool.workers.lent_max ?? 0),
  }),
  "level_factors.urgent": pool.level_factors.urgent,
  "level_factors.ordinary": pool.level_factors.ordinary,
  "level_factors.background": pool.level_factors.background,
});

const workersOf = (draft: Draft): PoolWorkers | null =>
  draft.workers
    ? {
        service: draft["workers.service"],
        version: draft["workers.version"] || null,
        min: Number(draft["workers.min"]),
        max: Number(draft["workers.max"]),
        lent_max: Number(draft["workers.lent_max"]),
      }
    : null;

export const bodyOf = (draft: Draft) =>
  ({
    name: draft.name.trim(),
    gpu_specs: [...draft.gpu_specs],
    tenant_id: draft.tenant_id || null,
    applications: applicationNames.filter((name) => draft.applications.includes(name)),
    dedicated: draft.dedicated,
    workers: workersOf(draft),
    level_factors: {
      urgent: draft["level_factors.urgent"],
      ordinary: draft["level_factors.ordinary"],
      background: draft["level_factors.background"],
    },
  }) satisfies NewPool;

/** Only what differs from the pool as it was read: what others change meanwhile stays theirs. */
export function patchOf(draft: Draft, base: Pool): PoolPatch {
  const [to, from] = [bodyOf(draft), bodyOf(draftOf(base))];
  const isOther = (name: "workers" | "applications" | "level_factors") =>
    JSON.stringify(to[name]) !== JSON.stringify(from[name]);
  return {
    ...(isOther("workers") && { workers: to.workers }),
    ...(isOther("applications") && { applications: to.applications }),
    ...(isOther("level_factors") && { level_factors: to.level_factors }),
  };
}

/** What somebody else changed meanwhile comes into the form where its person has typed nothing. */
export function merged(draft: Draft, base: Pool, now: Pool): Draft {
  const [from, to] = [draftOf(base), draftOf(now)];
  const untouched = Object.entries(to).filter(([name]) => {
    const field = name as keyof Draft;
    return String(draft[field]) === String(from[field]);
  });
  return { ...draft, ...Object.fromEntries(untouched) };
}
