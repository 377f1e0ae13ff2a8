import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import type { Change } from "@/ui/changes";
import { useTenantName } from "../parts/names";
import { applicationNames, type Draft } from "./draft";
import { useFirmPrice } from "./facts";

/** What the creation of a pool does: nothing is said of what is not chosen yet. */
export function useEffects() {
  const { t } = useText();
  const { list } = useFormat();
  const tenantName = useTenantName();
  const priceOf = useFirmPrice();
  return (draft: Draft): Change[] => {
    const { gpu_specs, tenant_id, dedicated, workers } = draft;
    const [first] = gpu_specs;
    const tenant = tenant_id ? tenantName(tenant_id) : null;
    const applications = list(applicationNames.filter((it) => draft.applications.includes(it)));
    const [min, max, lent] = [draft["workers.min"], draft["workers.max"], draft["workers.lent_max"]];
    const [least, most] = [priceOf(draft, min), priceOf(draft, max)];
    const changes: (Change | false)[] = [
      applications !== "" && {
        key: "jobs",
        sign: "+",
        text:
          dedicated && tenant
            ? t("pools.runsJobsOf", { applications, tenant })
            : t("pools.runsJobsOfAll", { applications }),
      },
      workers &&
        first !== undefined &&
        least !== null &&
        most !== null && {
          key: "firm",
          sign: "+",
          text: t("pools.firmEffect", { min, max, spec: first, least, most }),
        },
      workers &&
        Number(lent) > 0 && { key: "lent", sign: "+", text: t("pools.lentEffect", { count: Number(lent) }) },
      workers && tenant !== null && { key: "pays", sign: "=", text: t("pools.paysEffect", { tenant }) },
      !workers && { key: "none", sign: "=", text: t("pools.noWorkersEffect") },
      {
        key: "order",
        sign: "=",
        text: dedicated ? t("pools.dedicatedOrder") : t("pools.sharedOrder"),
      },
    ];
    return changes.filter((it) => it !== false);
  };
}
