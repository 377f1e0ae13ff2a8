import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { type Amount, parseAmount, shareOf, type Totals, toCents } from "@/lib/money";
import type { Costs } from "./report";

/** "212.1 h"; "–" for none. */
export function useHours() {
  const { t, language } = useText();
  const format = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
  return (seconds: number) =>
    seconds > 0 ? t("usage.hours", { hours: format.format(Math.max(0.1, seconds / 3600)) }) : t("usage.none");
}

/** The rows are in cents, and so is the sum; 0 of nothing. */
function partOfSum(amount: Amount, sum: Amount | undefined): number {
  const cents = sum && toCents(sum);
  return cents ? shareOf(amount, cents) : 0;
}

/** What part of its currency's sum a row is. */
export function useShares(rows: readonly Costs[], sums: Totals) {
  const { language } = useText();
  const percent = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 });
  const part = ({ amount, currency }: Costs) => partOfSum(parseAmount(amount), sums.get(currency ?? ""));
  const most = Math.max(0, ...rows.map(part));
  return (row: Costs) => <Share part={part(row)} most={most} text={percent.format(part(row))} />;
}

/** Its bar compares it with the largest. */
function Share({ part, most, text }: { part: number; most: number; text: string }) {
  return (
    <span className="num flex items-center gap-2 text-ink-3 text-xs">
      <span className="block h-1.5 w-16 shrink-0 rounded-sm bg-wash" aria-hidden="true">
        <span
          className="block h-full rounded-sm bg-ultra"
          style={{ width: `${most > 0 ? (part / most) * 100 : 0}%` }}
        />
      </span>
      {text}
    </span>
  );
}

/** What a row costs; "–" without a price. */
export function Cost({ row: { amount, currency } }: { row: Costs }) {
  const { t } = useText();
  const { money } = useFormat();
  return (
    <span className="num font-medium text-sm">
      {currency === null ? (
        <span title={t("usage.noPrice")}>{t("usage.none")}</span>
      ) : (
        money(amount, currency)
      )}
    </span>
  );
}

/** How many rows, what they sum up to, and the sum at the right. */
export function TableFoot({
  count,
  isWhole,
  facts,
  sums,
}: {
  count: number;
  isWhole: boolean;
  facts: readonly (string | false)[];
  sums: Totals;
}) {
  const { t } = useText();
  const { total } = useFormat();
  return (
    <span className="num flex flex-wrap justify-between gap-x-4">
      <span>
        {[t(isWhole ? "usage.rows" : "usage.rowsSoFar", { count }), ...facts].filter(Boolean).join(" · ")}
      </span>
      <span className="font-medium text-ink">
        {t("usage.total")} {total(sums)}
      </span>
    </span>
  );
}
