import { ApiError } from "@/api/problem";
import { type Text, useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { parseAmount } from "@/lib/money";
import { describe } from "@/ui/error";

/** A member of a problem as a number, text, or nothing. */
const text = (error: ApiError, name: string) => {
  const value = (error.problem as Record<string, unknown>)[name];
  return typeof value === "string" || typeof value === "number" ? value : null;
};

/** The sentence of a refusal, with the numbers that the problems of limits and budgets carry. */
export function useDescribe(): (error: unknown) => string {
  const { t } = useText();
  const { money, time } = useFormat();
  return (error) => {
    if (!(error instanceof ApiError)) return describe(error, t);
    const [limit, used, requested] = [text(error, "limit"), text(error, "used"), text(error, "requested")];
    const currency = text(error, "currency");
    if (error.is("quota-exceeded") && limit !== null && used !== null)
      return t("instances.quotaExceeded", {
        quota: quotaName(String(text(error, "quota") ?? ""), t),
        limit,
        used,
      });
    if (error.is("cost-limit-exceeded") && limit && requested && currency)
      return t("instances.costExceeded", {
        limit: money(parseAmount(String(limit)), String(currency)),
        used: money(parseAmount(String(used ?? "0")), String(currency)),
        requested: money(parseAmount(String(requested)), String(currency)),
      });
    if (error.is("budget-exhausted")) {
      const renews = text(error, "renews_at");
      return renews
        ? t("instances.budgetExhausted", { when: time(String(renews)) })
        : t("instances.budgetExhaustedOpen");
    }
    return describe(error, t);
  };
}

function quotaName(name: string, t: Text) {
  if (name === "instances") return t("instances.quotaInstances");
  if (name === "gpus") return t("instances.quotaGpus");
  if (name === "storages") return t("instances.quotaStorages");
  if (name === "storage_gib") return t("instances.quotaStorageGib");
  return name.replace(/^gpus of /, "");
}
