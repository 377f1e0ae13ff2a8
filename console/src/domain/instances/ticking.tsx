import type { Instance } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { costSoFar, runningSeconds } from "./running";

type Running = Pick<Instance, "state" | "started_at" | "price_per_hour" | "currency">;

export function RunningTime({ it }: { it: Running }) {
  const { duration } = useFormat();
  const seconds = runningSeconds(it, useNow());
  return seconds === null ? null : <span className="num">{duration(seconds)}</span>;
}

export function RunningCost({ it }: { it: Running }) {
  const { money } = useFormat();
  const cost = costSoFar(it, useNow());
  return cost === null ? null : <span className="num">{money(cost, it.currency)}</span>;
}

/** Time and cost of the present run; of others the price. */
export function RunCell({ it }: { it: Running }) {
  const { t } = useText();
  const { money } = useFormat();
  const price = t("ui.perHour", { price: money(it.price_per_hour, it.currency) });
  if (it.state !== "running") return <span className="num text-ink-3 text-sm">{price}</span>;
  if (!it.started_at)
    return (
      <span className="text-ink-3 text-sm" title={t("instances.startUnknown")}>
        –<span className="sr-only">{t("instances.startUnknown")}</span>
      </span>
    );
  return (
    <span className="block">
      <span className="block text-sm">
        <RunningTime it={it} />
      </span>
      <span className="block text-ink-3 text-xs" title={price}>
        <RunningCost it={it} />
      </span>
    </span>
  );
}
