import { budget as budgetQuery, quota as quotaQuery } from "@/api/catalogue";
import { useLoaded } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { minus } from "@/lib/money";
import { PageHead } from "@/ui/page";
import { BudgetSection } from "./budget-section";
import { isSpent } from "./is-spent";
import { LimitsSection } from "./limits-section";
import { storageQuota } from "./queries";
import { UsageTabs } from "./tabs";

export function LimitsPage() {
  const { t } = useText();
  const { money, utcMonth } = useFormat();
  const budget = useLoaded(budgetQuery);
  const quota = useLoaded(quotaQuery);
  const storages = useLoaded(storageQuota);
  const { instances: limit } = quota.limits;
  const used = quota.used.instances;
  const instances =
    limit == null ? t("usage.instancesFree", { count: used }) : t("usage.instancesOf", { used, limit });
  const left = budget && !isSpent(budget) ? minus(budget.terms.amount, budget.spent) : "0";
  return (
    <>
      <PageHead title={t("usage.title")}>
        {budget
          ? t("usage.limitsSentence", {
              left: money(left, budget.terms.currency),
              amount: money(budget.terms.amount, budget.terms.currency),
              month: utcMonth(budget.from),
              instances,
            })
          : t("usage.limitsNoBudget", { instances })}
      </PageHead>
      <UsageTabs />
      <BudgetSection budget={budget} />
      <LimitsSection quota={quota} storages={storages} />
    </>
  );
}
