import { useQuery } from "@tanstack/react-query";
import type { Job, JobAttempt } from "@/api/generated/types";
import { explanation } from "@/api/jobs/queries";
import { secondsLeft } from "@/domain/jobs/progress";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { isSome } from "@/lib/money";
import { spentOf, workOf } from "./standing";

/** How it stands, in numbers. */
export function useRunSentence(it: Job, attempts: readonly JobAttempt[]): string {
  const { t } = useText();
  const { money, clock, time, number, sentences, duration } = useFormat();
  const now = useNow();
  const { data: why } = useQuery({ ...explanation(it.id), enabled: it.state === "queued" });
  const cost = it.cost && money(it.cost.amount, it.cost.currency);
  const isFree = !it.cost || !isSome(it.cost.amount);
  const done = duration(workOf(attempts));
  const charged = cost && !isFree ? t("training.failedFor", { price: cost }) : t("training.failedFree");
  switch (it.state) {
    case "queued": {
      const waited = duration((now - Date.parse(it.created_at)) / 1000);
      return sentences([
        t("training.waitingFor", { time: waited }),
        Boolean(why?.expected_start) &&
          t("training.startsAbout", { time: clock(why?.expected_start ?? it.created_at) }),
      ]);
    }
    case "succeeded":
      return cost
        ? t("training.doneIn", { time: done, price: cost })
        : t("training.doneFree", { time: done });
    case "failed":
      return charged;
    case "expired":
      return t("training.expired");
    case "cancelled":
      return sentences([
        Boolean(it.progress?.step) &&
          t("training.stoppedAt", {
            step: number(it.progress?.step ?? 0),
            steps: number(it.progress?.steps ?? 0),
          }),
        charged,
      ]);
    default: {
      const spent = spentOf(attempts, now);
      const left = secondsLeft(it, now);
      const parts = [
        left !== null && t("training.doneAbout", { time: clock(new Date(now + left * 1000).toISOString()) }),
        spent !== null &&
          isSome(spent.amount) &&
          t("training.soFar", { price: money(spent.amount, spent.currency) }),
      ];
      return parts.some(Boolean) ? sentences(parts) : t("training.made", { time: time(it.created_at) });
    }
  }
}
