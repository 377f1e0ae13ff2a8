import { clsx } from "clsx";
import type { BudgetTerms, UsageGroup } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { parseAmount } from "@/lib/money";
import { percentSpent } from "./spent";

const NEAR = 80;

/** What was spent in the month, of what budget. */
export function SpentCell({
  usage,
  terms,
}: {
  usage: UsageGroup | undefined;
  terms: BudgetTerms | undefined;
}) {
  const { t } = useText();
  const { money } = useFormat();
  const currency = usage?.currency ?? terms?.currency ?? "USD";
  const spent = parseAmount(usage?.amount ?? "0");
  const percent = percentSpent(terms, spent, currency);
  const tone =
    percent === null ? "" : percent >= 100 ? "text-vermilion" : percent >= NEAR ? "text-ochre" : "";
  return (
    <span className="num flex items-center gap-3 text-sm">
      <span className="w-20 shrink-0 text-right max-md:w-auto">{money(spent, currency)}</span>
      {!terms && <span className="text-ink-3 text-xs">{t("platform.noBudget")}</span>}
      {percent !== null && terms && (
        <>
          <span className="h-1.5 w-20 shrink-0 overflow-hidden rounded-sm border border-line-strong max-lg:hidden">
            <span
              className={clsx(
                "block h-full",
                percent >= 100 ? "bg-vermilion" : percent >= NEAR ? "bg-ochre" : "bg-ink-3",
              )}
              style={{ width: `${Math.min(100, percent)}%` }}
            />
          </span>
          <span className={clsx("whitespace-nowrap text-xs", tone || "text-ink-3")}>
            {t("platform.ofBudget", { percent, budget: money(terms.amount, terms.currency) })}
          </span>
        </>
      )}
    </span>
  );
}
