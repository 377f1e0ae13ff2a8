import { keepPreviousData, useQueries } from "@tanstack/react-query";
import { clsx } from "clsx";
import type { JobLevel, JobQuote, NewJob } from "@/api/generated/types";
import { jobQuote } from "@/api/jobs/queries";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";

const levels: readonly JobLevel[] = ["urgent", "ordinary", "background"];

/** Levels side by side, each with its price and when it would start. */
export function LevelCards({
  value,
  order,
  isQuotable,
  onChange,
}: {
  value: JobLevel;
  /** What is quoted, at each level. */
  order: NewJob;
  isQuotable: boolean;
  onChange: (level: JobLevel) => void;
}) {
  const { t } = useText();
  const quotes = useQueries({
    queries: levels.map((level) => ({
      ...jobQuote({ ...order, level }),
      enabled: isQuotable,
      placeholderData: keepPreviousData,
    })),
  });
  const hints = {
    urgent: t("newJob.urgentHint"),
    ordinary: t("newJob.ordinaryHint"),
    background: t("newJob.backgroundHint"),
  };
  return (
    <div role="radiogroup" aria-label={t("newJob.when")} className="grid gap-3 md:grid-cols-3">
      {levels.map((level, i) => (
        <label
          key={level}
          className={clsx(
            "block cursor-pointer rounded-lg border bg-sheet px-3.5 py-3 has-focus-visible:outline-2 has-focus-visible:outline-ultra",
            level === value
              ? "border-ultra shadow-[inset_0_0_0_1px_var(--ultra)]"
              : "border-line hover:border-line-strong",
          )}
        >
          <span className="flex items-center justify-between gap-2">
            <span className="flex items-center gap-2 font-medium text-sm">
              <input
                type="radio"
                name="level"
                value={level}
                checked={level === value}
                onChange={() => onChange(level)}
                className="size-4"
              />
              {t(`jobs.${level}`)}
            </span>
            <LevelPrice quote={quotes[i]?.data} />
          </span>
          <span className="num mt-1.5 block text-xs">
            <LevelStart quote={quotes[i]?.data} isAsked={isQuotable} />
          </span>
          <span className="block text-ink-3 text-xs">{hints[level]}</span>
        </label>
      ))}
    </div>
  );
}

function LevelPrice({ quote }: { quote: JobQuote | undefined }) {
  const { money } = useFormat();
  const cost = quote?.costs[0];
  return <span className="num text-sm">{cost ? money(cost.p50, cost.currency) : "–"}</span>;
}

function LevelStart({ quote, isAsked }: { quote: JobQuote | undefined; isAsked: boolean }) {
  const { t } = useText();
  const { about } = useFormat();
  const now = useNow();
  if (!quote) return isAsked && "…";
  const start = quote.expected?.start;
  if (!start) return t("newJob.startsUnknown");
  const seconds = (Date.parse(start.p50) - now) / 1000;
  return seconds < 5 ? t("newJob.startsSoon") : t("newJob.startsIn", { time: about(seconds) });
}
