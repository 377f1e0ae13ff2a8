import type { Job, Model } from "@/api/generated/types";
import { useAsked } from "@/domain/jobs/asked";
import { ProgressBar } from "@/domain/jobs/progress-bar";
import { reasonOf, standingOf } from "@/domain/jobs/standing";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { StateMark } from "@/ui/state";
import { adviceOf } from "./failed";

/** The state with its reason, or with how far it is. */
export function StateCell({ it, model }: { it: Job; model: Model | undefined }) {
  const { t } = useText();
  const { number } = useFormat();
  const { name } = useAsked(it);
  const { mark, word } = standingOf(it);
  const { progress } = it;
  const reached =
    it.state === "cancelled" &&
    progress &&
    t("training.stepOf", { step: number(progress.step), steps: number(progress.steps) });
  return (
    <span className="block min-w-0">
      <StateMark mark={mark} reason={it.problem ? t(adviceOf(it.problem)) : reached || reasonOf(it, t)}>
        {t(word)}
      </StateMark>
      {it.state === "running" && (
        <span className="block max-w-52">
          <ProgressBar it={it} name={t("training.progressOf", { name: model?.name ?? name })} />
        </span>
      )}
    </span>
  );
}
