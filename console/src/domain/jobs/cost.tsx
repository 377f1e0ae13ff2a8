import type { Job } from "@/api/generated/types";
import { hasEnded } from "@/api/jobs/cache";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { isNothing } from "@/lib/money";

/** What it cost, or has cost so far, with its limit. */
export function CostCell({ it }: { it: Job }) {
  const { t } = useText();
  const { money } = useFormat();
  const isOver = hasEnded(it);
  const spent = it.cost && !isNothing(it.cost.amount);
  const limit = it.max_cost && t("jobs.atMost", { price: money(it.max_cost.amount, it.max_cost.currency) });
  const note = isOver ? null : (limit ?? (spent ? t("jobs.soFar") : null));
  return (
    <span className="num block whitespace-nowrap text-sm">
      {spent && it.cost ? (
        <span className="font-medium">{money(it.cost.amount, it.cost.currency)}</span>
      ) : isOver ? (
        <span className="text-ink-3">{it.cost || it.attempts === 0 ? t("jobs.free") : "–"}</span>
      ) : (
        <span className="text-ink-3" title={t("jobs.costUnknown")}>
          –
        </span>
      )}
      {note && <span className="block text-ink-3 text-xs">{note}</span>}
    </span>
  );
}
