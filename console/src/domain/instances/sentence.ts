import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { useAllInstances } from "./all";
import { summaryOf } from "./summary";

/** "4 running, $3.57 an hour." and what needs a look, over all instances and not only those shown. */
export function useSentence(): string | null {
  const { t } = useText();
  const { total, sentences } = useFormat();
  const { running, whole, isMore } = useAllInstances();
  if (!running) return null;
  const summary = summaryOf(running);
  const count = summary.running;
  const first =
    count === 0
      ? t("instances.noneRunning")
      : t("instances.sentence", {
          running: isMore
            ? t("instances.countRunningMore", { count })
            : t("instances.countRunning", { count }),
          rate: total(summary.rate),
        });
  if (!whole) return first;
  const { held, heldRate, waiting, failed } = summary;
  return sentences([
    first,
    held > 0 && t("instances.countHeld", { count: held, rate: total(heldRate) }),
    waiting > 0 && t("instances.countWaiting", { count: waiting }),
    failed > 0 && t("instances.countFailed", { count: failed }),
  ]);
}
