import { useQuery } from "@tanstack/react-query";
import type { Job, JobExplanation, JobsAlternative } from "@/api/generated/types";
import { explanation } from "@/api/jobs/queries";
import { useMe } from "@/api/session";
import { type Text, useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button, ButtonLink } from "@/ui/button";
import { ErrorLine } from "@/ui/error";
import { useChange, whyNotChange } from "./acts";
import { isPictures } from "./parameters";

/** How long an answer is fresh, in milliseconds. */
const LOOK = 10_000;

function ruleOf(
  { code, message, until, ahead_of_own }: JobExplanation,
  t: Text,
  clock: (at: string) => string,
) {
  switch (code) {
    case "not_before":
      return until ? t("jobs.code_not_before", { when: clock(until) }) : t("jobs.code_not_before_open");
    case "behind_own":
      return t("jobs.code_behind_own", { count: Math.max(1, ahead_of_own) });
    case "tenant_suspended":
    case "budget_exhausted":
    case "allowance_expired":
      return t(`jobs.${code}`);
    case "quota":
    case "model_missing":
    case "no_unit":
    case "group_node":
    case "gathering_gang":
    case "reserved_for_gang":
    case "urgent_spent":
    case "behind_share":
    case "quantum":
    case "busy":
      return t(`jobs.code_${code}`);
    default:
      return message;
  }
}

/** The first rule that stops it, its place, when it starts, and what would start sooner with its price. */
export function Why({ it }: { it: Job }) {
  const { t } = useText();
  const { clock } = useFormat();
  const { data, error } = useQuery({ ...explanation(it.id), refetchInterval: LOOK });
  if (error && !data) return <ErrorLine error={error} />;
  if (!data)
    return (
      <p role="status" className="text-ink-3 text-sm">
        {t("ui.loading")}…
      </p>
    );
  // only pictures can be asked for again in another pool
  const ways = data.elsewhere.filter((way) => way.level !== it.level || isPictures(it));
  const start = data.expected?.start;
  const when = !start
    ? t("jobs.startUnknown")
    : start.p90
      ? t("jobs.startsBetween", { from: clock(start.p10), to: clock(start.p90) })
      : t("jobs.startsFrom", { from: clock(start.p10) });
  return (
    <div role="status" className="min-w-0 text-sm">
      <p className="max-w-[68ch]">{ruleOf(data, t, clock)}</p>
      <p className="num text-ink-3 text-xs">
        {[data.position && t("jobs.position", { position: data.position }), when].filter(Boolean).join(" · ")}
      </p>
      {ways.length > 0 && (
        <ul
          aria-label={t("jobs.faster")}
          className="mt-2.5 -mb-1.5 divide-y divide-line border-line border-t"
        >
          {ways.map((way) => (
            <Way key={`${way.pool} ${way.level}`} it={it} way={way} />
          ))}
        </ul>
      )}
    </div>
  );
}

function Way({ it, way }: { it: Job; way: JobsAlternative }) {
  const { t } = useText();
  const { money, clock } = useFormat();
  const me = useMe();
  const change = useChange(it);
  const isSamePool = way.level !== it.level;
  const cost = way.costs[0];
  const price = cost && t("jobs.costsAbout", { price: money(cost.p50, cost.currency) });
  const level = t(`jobs.${way.level}`);
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 py-1.5">
      <span className="min-w-0">
        <span className="block font-medium">{isSamePool ? level : t("jobs.inPool", { pool: way.pool })}</span>
        <span className="num block text-ink-3 text-xs">
          {[
            way.expected_start
              ? t("jobs.expectedAt", { when: clock(way.expected_start) })
              : t("jobs.startUnknown"),
            !isSamePool && t("jobs.asNewJobHint"),
          ]
            .filter(Boolean)
            .join(" · ")}
        </span>
      </span>
      {isSamePool ? (
        <Button
          small
          busy={change.busy}
          disabled={whyNotChange(me, it, t)}
          onClick={() => change.run({ level: way.level })}
        >
          <span className="num">{[t(`jobs.make_${way.level}`), price].filter(Boolean).join(" · ")}</span>
        </Button>
      ) : (
        <ButtonLink small to="/jobs/new" search={{ like: it.id, pool: way.pool }}>
          <span className="num">{[t("jobs.asNewJob"), price].filter(Boolean).join(" · ")}</span>
        </ButtonLink>
      )}
    </li>
  );
}
