import type { LevelFactors, NewPool, Pool, PoolPatch, PoolWorkers } from "../src/api/generated/types";
import { isName, nameWrong, refuseWrong } from "./handlers/checks.ts";

type Wrong = Parameters<typeof refuseWrong>[0];

const APPLICATIONS = ["stable-diffusion", "dreambooth", "command"];
const MOST = 1000;

const isWithin = (value: number, least: number, most: number) =>
  Number.isInteger(value) && value >= least && value <= most;
const isFactor = (text: string) => /^\d{1,3}(\.\d{1,3})?$/.test(text) && Number(text) <= 100;

const applicationsWrong = (names: readonly string[] | null | undefined, isDedicated: boolean): Wrong =>
  names
    ? [
        ["/applications", names.length === 0, `must be between 1 and ${APPLICATIONS.length}`],
        ...names.flatMap((name, i): Wrong => {
          const at = `/applications/${i}`;
          return [
            [at, !APPLICATIONS.includes(name), `must be one of ${APPLICATIONS.join(", ")}`],
            [at, names.indexOf(name) < i, "duplicate name"],
            [at, name === "command" && !isDedicated, "programs of a tenant run in a dedicated pool only"],
          ];
        }),
      ]
    : [];

const workersWrong = (workers: PoolWorkers | null | undefined): Wrong => {
  if (!workers) return [];
  const { service, min, max, lent_max = 0 } = workers;
  return [
    ["/workers/service", service.length === 0 || service.length > 63, "must have 1 to 63 characters"],
    ["/workers/max", !isWithin(max, 0, MOST), `must be between 0 and ${MOST}`],
    ["/workers/min", !isWithin(min, 0, max), `must be between 0 and ${max}`],
    ["/workers/lent_max", !isWithin(lent_max, 0, MOST), `must be between 0 and ${MOST}`],
    ["/workers/max", lent_max > 0 && max === 0, "must be at least 1 with `lent_max`"],
  ];
};

const factorsWrong = (factors: LevelFactors | null | undefined): Wrong =>
  Object.entries(factors ?? {}).map(([level, factor]) => [
    `/level_factors/${level}`,
    !isFactor(factor),
    "must be 0 to 100, with at most three decimal places",
  ]);

export const checkNewPool = (it: NewPool) =>
  refuseWrong([
    ["/name", !isName(it.name), nameWrong],
    ["/gpu_specs", !isWithin(it.gpu_specs.length, 1, 16), "must be between 1 and 16"],
    ...it.gpu_specs.map((name, i): Wrong[number] => [
      `/gpu_specs/${i}`,
      it.gpu_specs.indexOf(name) < i,
      "duplicate name",
    ]),
    ...applicationsWrong(it.applications, it.dedicated ?? false),
    ["/tenant_id", !it.tenant_id && (it.dedicated ?? false), "required with `dedicated`"],
    ["/tenant_id", !it.tenant_id && Boolean(it.workers), "required with `workers`"],
    ...workersWrong(it.workers),
    ...factorsWrong(it.level_factors),
  ]);

export const checkPoolPatch = (pool: Pool, it: PoolPatch) =>
  refuseWrong([
    ...applicationsWrong(it.applications, pool.dedicated),
    ["/workers", Boolean(it.workers) && !pool.tenant_id, "the pool has no tenant"],
    ...workersWrong(it.workers),
    ...factorsWrong(it.level_factors),
  ]);
