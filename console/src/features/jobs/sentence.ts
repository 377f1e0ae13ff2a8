import type { Job } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { parseAmount, totalOf } from "@/lib/money";
import { endedSince } from "./order";

/** "2 running, 4 waiting. 9 finished today for $0.24." */
export function useSentence(
  open: { running: number; waiting: number; isMore: boolean },
  all: { items: readonly Job[]; isWhole: boolean },
): string {
  const { t } = useText();
  const { total, money, sentences } = useFormat();
  const midnight = new Date().setHours(0, 0, 0, 0);
  const { count, costs } = endedSince(all.items, midnight);
  const oldest = all.items.at(-1);
  // jobs that ended today may be on pages that were not read
  const isCovered = all.isWhole || (oldest?.ended_at && Date.parse(oldest.ended_at) < midnight);
  const totals = totalOf(costs, (it) => parseAmount(it.amount));
  const cost = totals.size > 0 ? total(totals) : money("0", "USD");
  const waiting = t("jobs.countWaiting", { count: open.waiting });
  return sentences([
    open.running + open.waiting === 0
      ? t("jobs.nothingOpen")
      : t("jobs.sentence", {
          running: t("jobs.countRunning", { count: open.running }),
          waiting: open.isMore ? t("jobs.moreThan", { waiting }) : waiting,
        }),
    !isCovered
      ? t("jobs.todayMore", { count })
      : count === 0
        ? t("jobs.noneToday")
        : t("jobs.today", { count, cost }),
  ]);
}
