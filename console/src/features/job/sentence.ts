import { useQuery } from "@tanstack/react-query";
import type { Job } from "@/api/generated/types";
import { artifacts } from "@/api/jobs/queries";
import { isPicture } from "@/domain/jobs/picture";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { isNothing } from "@/lib/money";

/** How it stands, in numbers. */
export function useJobSentence(it: Job): string {
  const { t } = useText();
  const { clock, money, duration } = useFormat();
  const { data } = useQuery({ ...artifacts(it.id), enabled: it.state === "succeeded" });
  const cost =
    it.cost && !isNothing(it.cost.amount) ? money(it.cost.amount, it.cost.currency) : t("jobs.free");
  const when = clock(it.ended_at ?? it.created_at);
  const seconds =
    it.started_at && it.ended_at ? (Date.parse(it.ended_at) - Date.parse(it.started_at)) / 1000 : 0;
  const time = duration(Math.max(1, seconds));
  const made = data?.filter(isPicture).length ?? 0;
  switch (it.state) {
    case "queued":
      return t("jobs.sentenceQueued", { when: clock(it.created_at) });
    case "assigned":
      return t("jobs.sentenceAssigned");
    case "running":
      return t("jobs.sentenceRunning", { when: clock(it.started_at ?? it.created_at) });
    case "cancelling":
      return t("jobs.sentenceStopping");
    case "succeeded":
      return made > 0
        ? t("jobs.sentenceSucceeded", { pictures: t("jobs.countPictures", { count: made }), time, cost })
        : t("jobs.sentenceDone", { time, cost });
    case "failed":
      return t("jobs.sentenceFailed", { when, cost });
    case "cancelled":
      return t("jobs.sentenceCancelled", { when, cost });
    case "expired":
      return t("jobs.sentenceExpired", { when });
  }
}
