import type { Job, JobAttempt, Model } from "@/api/generated/types";
import { askedFor } from "@/api/jobs/asked";
import { useMe } from "@/api/session";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { CopyIconButton } from "@/ui/copy";
import { Fact, Facts } from "@/ui/facts";
import { draftLike } from "./order";

/** What is known of the order: the API does not tell what a training was asked for. */
export function RunFacts({
  it,
  model,
  attempts,
}: {
  it: Job;
  model: Model | undefined;
  attempts: readonly JobAttempt[];
}) {
  const { t } = useText();
  const { money, time } = useFormat();
  const order = askedFor(useMe().user.id, it.id);
  const asked = order && draftLike(order);
  const base = model?.base_model ?? asked?.["parameters.base_model"];
  return (
    <Facts>
      {base && (
        <Fact label={t("training.factBase")}>
          <span className="font-mono text-xs leading-5">{base}</span>
        </Fact>
      )}
      {asked && (
        <Fact label={t("training.factSubject")}>
          <span title={t("training.here")}>
            {asked["parameters.token"]} {asked["parameters.theme"]}
          </span>
        </Fact>
      )}
      {attempts[0] && (
        <Fact label={t("jobs.gpu")}>
          <span className="font-mono text-xs leading-5">{attempts[0].gpu_spec}</span>
        </Fact>
      )}
      <Fact label={t("jobs.level")}>{t(`jobs.${it.level}`)}</Fact>
      {it.max_cost && <Fact label={t("jobs.limit")}>{money(it.max_cost.amount, it.max_cost.currency)}</Fact>}
      <Fact label={t("training.started")}>{time(it.created_at)}</Fact>
      <Fact label={t("jobs.id")}>
        <span className="-my-1 flex items-center gap-0.5">
          <span className="font-mono text-xs" title={it.id}>
            {shortId(it.id)}
          </span>
          <CopyIconButton text={it.id} label={t("jobs.copyId")} />
        </span>
      </Fact>
    </Facts>
  );
}
