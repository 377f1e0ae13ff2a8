import { useQuery } from "@tanstack/react-query";
import type { BudgetTerms, Tenant } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { SpentCell } from "../parts/spent-cell";
import { LimitRows } from "./limit-rows";
import { usage } from "./queries";

/** What was spent of the month's budget, and what happens when all is. */
export function BudgetPanel({ it, terms }: { it: Tenant; terms: BudgetTerms }) {
  const { t } = useText();
  const { money, list } = useFormat();
  const { data } = useQuery(usage(it.id, "tenant"));
  const warns = terms.warn_percents ?? [];
  return (
    <LimitRows
      label={t("tenants.budget")}
      isWhole
      rows={[
        {
          label: t("tenants.thisMonth"),
          text: data ? (
            <span className="flex justify-end">
              <SpentCell usage={data.items.find((one) => one.currency === terms.currency)} terms={terms} />
            </span>
          ) : (
            "–"
          ),
        },
        { label: t("tenants.aMonth"), text: money(terms.amount, terms.currency) },
        {
          label: t("tenants.warnsAt"),
          text: warns.length > 0 ? list(warns.map((one) => `${one} %`)) : t("tenants.noWarning"),
        },
        {
          label: t("tenants.atLimit"),
          text: terms.at_limit === "notify" ? t("tenants.atLimitNotify") : t("tenants.atLimitStop"),
        },
      ]}
    />
  );
}
