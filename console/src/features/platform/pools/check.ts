import type { Text } from "@/i18n";
import type { Errors } from "@/lib/form";
import { COMMAND, type Draft } from "./draft";

const MOST_SPECS = 16;
const MOST_WORKERS = 1000;

const isCount = (text: string) => /^\d{1,4}$/.test(text) && Number(text) <= MOST_WORKERS;
export const isFactor = (text: string) => /^\d{1,3}(\.\d{1,3})?$/.test(text) && Number(text) <= 100;

/** What the service would refuse, before anything is sent. */
export function checkDraft(draft: Draft, t: Text): Errors<Draft> {
  const { workers, dedicated, tenant_id, applications } = draft;
  const [min, max, lent] = [draft["workers.min"], draft["workers.max"], draft["workers.lent_max"]];
  const count = (text: string) =>
    !workers || isCount(text) ? undefined : t("pools.countWrong", { most: MOST_WORKERS });
  const factor = (text: string) => (isFactor(text) ? undefined : t("pools.factorWrong"));
  const tooFew = workers && Number(lent) > 0 && Number(max) === 0 ? t("pools.lentNeedsFirm") : undefined;
  return {
    name: /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(draft.name.trim()) ? undefined : t("pools.nameWrong"),
    gpu_specs:
      draft.gpu_specs.length > 0 && draft.gpu_specs.length <= MOST_SPECS
        ? undefined
        : t("pools.specsWrong", { most: MOST_SPECS }),
    tenant_id: (dedicated || workers) && !tenant_id ? t("pools.tenantMissing") : undefined,
    applications:
      applications.length === 0
        ? t("pools.applicationMissing")
        : applications.includes(COMMAND) && !dedicated
          ? t("pools.commandDedicated")
          : undefined,
    "workers.service": workers && !draft["workers.service"] ? t("pools.serviceMissing") : undefined,
    "workers.min": count(min) ?? (workers && Number(min) > Number(max) ? t("pools.minAboveMax") : undefined),
    "workers.max": count(max) ?? tooFew,
    "workers.lent_max": count(lent),
    "level_factors.urgent": factor(draft["level_factors.urgent"]),
    "level_factors.ordinary": factor(draft["level_factors.ordinary"]),
    "level_factors.background": factor(draft["level_factors.background"]),
  };
}
