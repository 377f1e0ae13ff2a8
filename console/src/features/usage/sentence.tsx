import type { JobUsageGroup, UsageGroup } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { DAY, dayOf, type Window } from "./period";
import { figureOf, sumOf } from "./report";

/** The sum in words, what it is of, and what of it still grows. */
export function Sentence({
  kinds,
  charges,
  window,
}: {
  kinds: readonly UsageGroup[];
  charges: readonly JobUsageGroup[];
  window: Window;
}) {
  const { t } = useText();
  const { total, utcDay, clock, sentences } = useFormat();
  const bounds = {
    from: utcDay(dayOf(window.from)),
    to: utcDay(dayOf(Math.min(window.end - DAY, window.to - 1))),
  };
  const [instances, jobs] = [sumOf(kinds), sumOf(charges)];
  const sum = total(sumOf([...kinds, ...charges]));
  const runs = figureOf(kinds, "open_runs");
  const attempts = figureOf(charges, "open_attempts");
  const time = clock(new Date(window.to).toISOString());
  const goesOn = () => {
    if (runs === 0) return attempts > 0 && t("usage.openJobs", { count: attempts });
    if (attempts === 0) return t("usage.openRuns", { count: runs, time });
    return t("usage.openBoth", {
      runs: t("usage.countRuns", { count: runs }),
      attempts: t("usage.countAttempts", { count: attempts }),
      time,
    });
  };
  if (kinds.length === 0 && charges.length === 0) return t("usage.sumNothing", bounds);
  return sentences([
    instances.size > 0 && jobs.size > 0
      ? t("usage.sumBoth", { ...bounds, sum, instances: total(instances), jobs: total(jobs) })
      : bounds.from === bounds.to
        ? t("usage.sumDay", { from: bounds.from, sum })
        : t("usage.sum", { ...bounds, sum }),
    goesOn(),
  ]);
}
