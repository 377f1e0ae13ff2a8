import type { Job, PoolId, TenantId, UsablePool } from "../../src/api/generated/types";
import { type Amount, parseAmount, toDecimal } from "../../src/lib/money";

/** What attempts of a day cost, or why they cost nothing. */
export interface PastUsage {
  tenant_id: TenantId;
  /** `2026-01-31`. */
  day: string;
  kind: Job["kind"];
  application: string;
  pool_id: PoolId;
  gpu_spec: string;
  /** `charged` or the reason why not. */
  charge: string;
  seconds: number;
  amount: string;
  attempts: number;
}

interface Habit {
  kind: Job["kind"];
  application: string;
  pool: string;
  spec: string;
  /** Of ten workdays, on how many. */
  often: number;
  /** Attempts of a busy day, and seconds that each is charged. */
  attempts: number;
  seconds: number;
  /** With the factor of the level. */
  price: string;
}

const picture = { kind: "generation", application: "stable-diffusion" } as const;

const habits: Habit[] = [
  {
    ...picture,
    pool: "generation",
    spec: "3080-small-4-1",
    often: 10,
    attempts: 190,
    seconds: 42,
    price: "0.20",
  },
  {
    ...picture,
    pool: "generation",
    spec: "4090-small-4-1",
    often: 8,
    attempts: 64,
    seconds: 31,
    price: "1.11",
  },
  {
    ...picture,
    pool: "generation-large",
    spec: "l40s-small-8-1",
    often: 5,
    attempts: 48,
    seconds: 75,
    price: "1.12",
  },
  {
    kind: "training",
    application: "dreambooth",
    pool: "training",
    spec: "4090-small-4-1",
    often: 4,
    attempts: 3,
    seconds: 2340,
    price: "0.74",
  },
  {
    kind: "batch",
    application: "command",
    pool: "northlight-programs",
    spec: "a100-small-4-1",
    often: 3,
    attempts: 2,
    seconds: 4100,
    price: "0",
  },
];

const DAY = 86_400_000;
/** Jobs of the last days are told by themselves. */
const NEWEST = 3;
const OLDEST = 90;

/** The same at each start: 0 to 9. */
const dice = (a: number, b: number) => ((a * 6271 + b * 92_821 + 7) % 89) % 10;

const costOf = (price: string, seconds: number): Amount => (parseAmount(price) * BigInt(seconds)) / 3600n;

/** Ninety days of pictures, a training now and then, and programs on the studio's own instances, which cost nothing. */
export function pastUsage(tenant_id: TenantId, pools: readonly UsablePool[]): PastUsage[] {
  const today = Math.floor(Date.now() / DAY) * DAY;
  const days = Array.from({ length: OLDEST - NEWEST + 1 }, (_, i) => today - (OLDEST - i) * DAY);
  return days.flatMap((at) => habits.flatMap((habit, n) => usageOf(tenant_id, pools, at, habit, n)));
}

function usageOf(
  tenant_id: TenantId,
  pools: readonly UsablePool[],
  at: number,
  habit: Habit,
  n: number,
): PastUsage[] {
  const roll = dice(n + 1, Math.floor(at / DAY));
  const isWeekend = new Date(at).getUTCDay() % 6 === 0;
  const pool = pools.find((it) => it.name === habit.pool);
  if (!pool || (isWeekend ? roll < 7 : roll >= habit.often)) return [];
  const attempts = Math.max(1, Math.round((habit.attempts * (4 + roll)) / (isWeekend ? 40 : 12)));
  const seconds = attempts * (habit.seconds + roll * 3) + 11;
  const of = (charge: string, seconds: number, attempts: number): PastUsage => ({
    tenant_id,
    day: new Date(at).toISOString().slice(0, 10),
    kind: habit.kind,
    application: habit.application,
    pool_id: pool.id,
    gpu_spec: habit.spec,
    charge,
    seconds,
    amount: charge === "charged" ? toDecimal(costOf(habit.price, seconds)) : "0",
    attempts,
  });
  const failed = Math.floor(attempts / 40) + (roll === 3 ? 1 : 0);
  return [
    of("charged", seconds, attempts),
    of("loading", attempts * 4 + roll, 0),
    ...(failed > 0 ? [of(roll % 2 ? "job_failed" : "lost", failed * habit.seconds, failed)] : []),
    ...(roll === 6 ? [of("preempted", habit.seconds * 2, 2)] : []),
  ];
}
