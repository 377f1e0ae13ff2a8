import type { Quota, StorageQuota } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { partOf } from "@/lib/money";

export interface LimitRow {
  key: string;
  title: string;
  hint?: string;
  value: string;
  /** How much of it is used; null without a limit, or of nothing. */
  part: number | null;
  /** Counts in the line above, too. */
  isPart?: boolean;
}

const countPart = (used: number, limit: number | null | undefined) =>
  limit == null || limit === 0 ? null : used / limit;

/** `NVIDIA-GeForce-RTX-4090` is "GeForce RTX 4090". */
const modelName = (model: string) => model.replace(/^NVIDIA-/, "").replaceAll("-", " ");

/** The limits as lines: those of models and currencies too, and what is used without a limit. */
export function useRows({ limits, used }: Quota, storages: StorageQuota): LimitRow[] {
  const { t } = useText();
  const { money } = useFormat();
  const value = (count: string | number, limit: string | number | null | undefined) => {
    if (limit == null) return t("usage.usedFree", { used: count });
    return limit === 0 ? t("usage.notAllowed") : t("usage.usedOf", { used: count, limit });
  };
  const gpus = Object.values(used.gpus).reduce((sum, count) => sum + count, 0);
  const models = [...new Set([...Object.keys(used.gpus), ...Object.keys(limits.gpus_by_model ?? {})])].sort();
  const currencies = [
    ...new Set([...Object.keys(limits.cost_per_hour ?? {}), ...Object.keys(used.cost_per_hour)]),
  ].sort();
  const gib = (count: number) => t("usage.limitGibValue", { gib: count });
  return [
    {
      key: "instances",
      title: t("usage.limitInstances"),
      hint: t("usage.limitInstancesHint"),
      value: value(used.instances, limits.instances),
      part: countPart(used.instances, limits.instances),
    },
    {
      key: "gpus",
      title: t("usage.limitGpus"),
      hint: t("usage.limitGpusHint"),
      value: value(gpus, limits.gpus),
      part: countPart(gpus, limits.gpus),
    },
    ...models.map((model) => {
      const limit = limits.gpus_by_model?.[model];
      const count = used.gpus[model] ?? 0;
      return {
        key: model,
        isPart: true,
        title: modelName(model),
        value: value(count, limit),
        part: countPart(count, limit),
      };
    }),
    ...currencies.map((currency) => {
      const limit = limits.cost_per_hour?.[currency];
      const cost = used.cost_per_hour[currency] ?? "0";
      return {
        key: currency,
        title: t("usage.limitCost"),
        hint: t("usage.limitCostHint"),
        value: value(money(cost, currency), limit && money(limit, currency)),
        part: limit ? partOf(cost, limit) : null,
      };
    }),
    {
      key: "storages",
      title: t("usage.limitStorages"),
      hint: t("usage.limitStoragesHint"),
      value: value(storages.used.storages, storages.limits.storages),
      part: countPart(storages.used.storages, storages.limits.storages),
    },
    {
      key: "gib",
      title: t("usage.limitGib"),
      value: value(gib(storages.used.gib), gib(storages.limits.gib)),
      part: countPart(storages.used.gib, storages.limits.gib),
    },
  ];
}
