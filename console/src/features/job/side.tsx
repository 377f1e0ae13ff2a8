import { useQuery } from "@tanstack/react-query";
import type { Job } from "@/api/generated/types";
import { artifacts, attempts } from "@/api/jobs/queries";
import { useAsked } from "@/domain/jobs/asked";
import { CostCell } from "@/domain/jobs/cost";
import { AskedFacts, FactLine } from "@/domain/jobs/facts";
import { isPictures } from "@/domain/jobs/parameters";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { CopyIconButton } from "@/ui/copy";

/** What was asked, and what it costs. */
export function Side({ it }: { it: Job }) {
  const { t } = useText();
  const { time } = useFormat();
  const { data: tries } = useQuery({ ...attempts(it.id), enabled: it.attempts > 0 });
  const { order } = useAsked(it);
  const pool = order?.pool;
  const spec = tries?.[0]?.gpu_spec;
  return (
    <aside aria-label={t("jobs.facts")} className="rounded-lg border border-line bg-sheet px-4 py-4">
      {isPictures(it) && (
        <div className="mb-3 border-line border-b pb-3">
          <Known it={it} />
        </div>
      )}
      <dl className="text-sm">
        <FactLine label={t("jobs.cost")}>
          <CostCell it={it} />
        </FactLine>
        {it.max_cost && <Limit it={it} />}
        <FactLine label={t("jobs.level")}>
          {t("jobs.levelOf", { level: t(`jobs.${it.level}`), priority: it.priority })}
        </FactLine>
        {spec && (
          <FactLine label={t("jobs.gpu")}>
            <span className="font-mono text-xs">{spec}</span>
          </FactLine>
        )}
        {pool && <FactLine label={t("jobs.pool")}>{pool}</FactLine>}
        {it.deadline && <FactLine label={t("jobs.deadline")}>{time(it.deadline)}</FactLine>}
        <FactLine label={t("jobs.keptIn")}>job-outputs</FactLine>
        <FactLine label={t("jobs.id")}>
          <span className="-mr-2 inline-flex items-center gap-0.5">
            <span className="font-mono text-xs" title={it.id}>
              {shortId(it.id)}
            </span>
            <CopyIconButton text={it.id} label={t("jobs.copyId")} />
          </span>
        </FactLine>
      </dl>
    </aside>
  );
}

function Limit({ it }: { it: Job }) {
  const { t } = useText();
  const { money } = useFormat();
  return it.max_cost ? (
    <FactLine label={t("jobs.limit")}>{money(it.max_cost.amount, it.max_cost.currency)}</FactLine>
  ) : null;
}

/** From this browser, and from the first picture once there is one. */
function Known({ it }: { it: Job }) {
  const { known } = useAsked(it);
  const { data: made } = useQuery({ ...artifacts(it.id), enabled: it.state === "succeeded" });
  return <AskedFacts known={known} several={(made?.length ?? 0) > 1} />;
}
