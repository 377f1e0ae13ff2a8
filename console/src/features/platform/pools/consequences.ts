import type { Pool } from "@/api/generated/types";
import { useText } from "@/i18n";
import type { Change } from "@/ui/changes";
import { type Draft, patchOf } from "./draft";

/** What a change does to workers and jobs that there are. */
export function useConsequences() {
  const { t } = useText();
  return (draft: Draft, pool: Pool): Change[] => {
    const { workers, applications, level_factors } = patchOf(draft, pool);
    const { actual, lent_actual } = pool.status;
    const running = actual + lent_actual;
    const surplus = workers
      ? Math.max(0, actual - workers.max) + Math.max(0, lent_actual - (workers.lent_max ?? 0))
      : 0;
    const missing = workers ? Math.max(0, workers.min - actual) : 0;
    const isOther =
      workers &&
      (workers.service !== pool.workers?.service || workers.version !== (pool.workers.version ?? null));
    const left = applications && pool.applications.some((it) => !applications.includes(it));
    const changes: (Change | false | null | undefined)[] = [
      workers === null &&
        running > 0 && { key: "ends", sign: "−", text: t("pools.endsEffect", { count: running }) },
      surplus > 0 && { key: "fewer", sign: "−", text: t("pools.fewerEffect", { count: surplus }) },
      missing > 0 && { key: "more", sign: "+", text: t("pools.moreEffect", { count: missing }) },
      isOther && running > 0 && { key: "keep", sign: "=", text: t("pools.keepEffect", { count: running }) },
      workers && pool.status.problem !== null && { key: "again", sign: "=", text: t("pools.againEffect") },
      left && { key: "left", sign: "=", text: t("pools.leftEffect") },
      level_factors && { key: "factors", sign: "=", text: t("pools.factorsEffect") },
    ];
    return changes.filter((it) => it !== false && it != null);
  };
}
