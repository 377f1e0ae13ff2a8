import type { ReactNode } from "react";
import { asCurl } from "@/api/client";
import { createJob } from "@/api/generated/operations";
import type { JobQuote, NewJob } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy";
import { describe, RequestId } from "@/ui/error";

export interface Sum {
  body: NewJob;
  quote: JobQuote | undefined;
  /** Why there is no quote. */
  quoteError: Error | null;
  reason: string | false;
  busy: boolean;
  refusal: Error | null;
  isAtField: boolean;
  /** The verb, with what it makes. */
  verb: string;
  /** In place of a price. */
  costNote?: string | undefined;
  /** What time and price need, while they cannot be told. */
  missing?: string | undefined;
  /** Where its results go. */
  results?: string | undefined;
  /** What stands above the costs. */
  children: ReactNode;
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-3">{name}</dt>
      <dd className="num min-w-0 break-words">{children}</dd>
    </>
  );
}

/** What it makes, when, and what it costs, before the press. */
export function Summary(sum: Sum) {
  const { t } = useText();
  const { money, clock, duration } = useFormat();
  const { quote, body } = sum;
  const end = quote?.expected?.end;
  const start = quote?.expected?.start;
  const unknown = <span title={t("newJob.unknownHint")}>–</span>;
  return (
    <section
      aria-labelledby="summary"
      className="rounded-lg border border-line bg-sheet px-4 py-4 lg:sticky lg:top-6"
    >
      <h2 id="summary" className="font-medium text-lg">
        {t("newJob.summary")}
      </h2>
      <dl className="mt-3 grid grid-cols-[5rem_minmax(0,1fr)] gap-y-2 text-sm">
        {sum.children}
        <Fact name={t("newJob.work")}>
          {quote
            ? t("newJob.workRange", {
                p50: duration(Math.max(1, quote.work_seconds_p50)),
                p90: duration(Math.max(1, quote.work_seconds_p90)),
              })
            : "–"}
        </Fact>
        <Fact name={t("newJob.starts")}>
          {start ? t("newJob.about", { when: clock(start.p50) }) : unknown}
        </Fact>
        <Fact name={t("newJob.ends")}>{end ? t("newJob.about", { when: clock(end.p50) }) : unknown}</Fact>
      </dl>
      <div className="num mt-3 border-line border-t pt-3 text-sm">
        {quote?.costs.map((cost, i) => (
          <p key={cost.gpu_spec} className={i === 0 ? "" : "mt-2 text-ink-2"}>
            <span className="flex items-baseline justify-between gap-3">
              <span className="truncate font-mono text-xs">{cost.gpu_spec}</span>
              <span className={i === 0 ? "font-medium text-lg" : ""}>{money(cost.p50, cost.currency)}</span>
            </span>
            <span className="block text-right text-ink-3 text-xs">
              {t("newJob.most", { price: money(cost.p90, cost.currency) })}
            </span>
          </p>
        ))}
        {quote?.costs.length === 0 && <p className="text-ink-2">{sum.costNote ?? t("newJob.costUnknown")}</p>}
        {sum.missing && (
          <p role="status" className="text-ink-2">
            {sum.missing}
          </p>
        )}
        {sum.quoteError && <p className="text-ochre text-sm">{refusalText(sum.quoteError, t)}</p>}
        <p className="mt-2 text-ink-3 text-xs">{t("newJob.waitFree")}</p>
      </div>
      <div className="mt-4 grid gap-2 max-lg:hidden">
        <Submit {...sum} />
      </div>
      <div className="mt-2 grid">
        <CopyButton text={asCurl(createJob, { body })} label={t("ui.copyAsCurl")} />
      </div>
      {sum.refusal && (
        <div
          role="alert"
          className="mt-3 rounded-md border border-vermilion bg-vermilion-wash px-3 py-2 text-sm"
        >
          <p className="text-vermilion">
            {sum.isAtField ? t("newJob.seeFields") : refusalText(sum.refusal, t)}
          </p>
          <RequestId error={sum.refusal} />
        </div>
      )}
      <p className="mt-3 text-ink-3 text-xs">{sum.results ?? t("newJob.results")}</p>
    </section>
  );
}

function refusalText(error: Error, t: ReturnType<typeof useText>["t"]): string {
  if (error instanceof ApiError && error.is("no-pool")) return t("newJob.noPool");
  if (error instanceof ApiError && error.is("model-missing")) {
    const models = (error.problem as Record<string, unknown>).models;
    const names = Array.isArray(models) ? [...new Set(models.map(String))].join(", ") : "–";
    return t("newJob.modelMissing", { models: names });
  }
  return describe(error, t);
}

function Submit(sum: Sum) {
  const { t } = useText();
  const { money } = useFormat();
  const cost = sum.quote?.costs[0];
  return (
    <Button kind="primary" type="submit" busy={sum.busy} disabled={sum.reason}>
      <span className="num">
        {cost ? t("newJob.makeAt", { make: sum.verb, price: money(cost.p50, cost.currency) }) : sum.verb}
      </span>
    </Button>
  );
}

/** On narrow screens: the price and the one filled button, always in reach. */
export function SubmitBar(sum: Sum) {
  const { t } = useText();
  const { clock } = useFormat();
  const end = sum.quote?.expected?.end;
  return (
    <div className="fixed inset-x-0 bottom-0 z-10 flex items-center justify-between gap-3 border-line border-t bg-paper px-5 py-2.5 md:left-54 md:px-8 lg:hidden">
      <p className="num min-w-0 truncate text-xs">
        {t("newJob.ends")} {end ? t("newJob.about", { when: clock(end.p50) }) : "–"}
      </p>
      <Submit {...sum} />
    </div>
  );
}
