import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Job } from "@/api/generated/types";
import { jobQuote } from "@/api/jobs/queries";
import { useWhyNot } from "@/app/roles";
import { useSubmit } from "@/domain/jobs/acts";
import { useAsked } from "@/domain/jobs/asked";
import { isPictures } from "@/domain/jobs/parameters";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button, ButtonLink } from "@/ui/button";
import { CopyButton } from "@/ui/copy";
import { ErrorLine } from "@/ui/error";
import { Panel, Row, Section } from "@/ui/page";
import { adviceFor } from "./advice";

/** Why it failed, in the words of what failed. */
export function FailedReason({ it }: { it: Job }) {
  const { t } = useText();
  if (!it.problem) return null;
  return (
    <div className="mb-6 rounded-lg border border-vermilion bg-vermilion-wash px-4 py-3.5">
      <h2 className="font-medium text-base text-vermilion">{t("jobs.failed")}</h2>
      <p className="max-w-[80ch] break-words text-sm">{it.problem.message}</p>
      <p className="font-mono text-ink-3 text-xs">{it.problem.code}</p>
    </div>
  );
}

/** Submits the same again, with its price. */
export function AgainButton({ it, kind }: { it: Job; kind?: "primary" }) {
  const { t } = useText();
  const { money } = useFormat();
  const navigate = useNavigate();
  const role = useWhyNot("jobs.write");
  const { order } = useAsked(it);
  const { data: quote } = useQuery({
    ...jobQuote(order ?? { application: it.application, method: it.method, parameters: {} }),
    enabled: order !== undefined && !role,
  });
  const submit = useSubmit((made) => void navigate({ to: "/jobs/$id", params: { id: made.id } }));
  const cost = quote?.costs[0];
  return (
    <>
      <Button
        small={kind !== "primary"}
        kind={kind ?? "plain"}
        busy={submit.busy}
        disabled={role || (!order && t("jobs.unknownAgain"))}
        onClick={() => order && submit.run(order)}
      >
        <span className="num">
          {cost ? t("jobs.againAt", { price: money(cost.p50, cost.currency) }) : t("jobs.again")}
        </span>
      </Button>
      {submit.error && <ErrorLine error={submit.error} />}
    </>
  );
}

/** What helps with this failure. */
export function WhatToDo({ it }: { it: Job }) {
  const { t } = useText();
  const { money } = useFormat();
  const { first, again } = adviceFor(it);
  const hint =
    first === "limit"
      ? t("jobs.fix_limitHint", {
          limit: it.max_cost ? money(it.max_cost.amount, it.max_cost.currency) : "–",
        })
      : t(`jobs.fix_${first}Hint`);
  return (
    <Section title={t("jobs.whatToDo")}>
      <Panel>
        <Row title={<span className="font-medium text-sm">{t(`jobs.fix_${first}`)}</span>} hint={hint}>
          {first === "ask" ? (
            <CopyButton small text={it.id} label={t("jobs.copyId")} />
          ) : again ? (
            <AgainButton it={it} />
          ) : (
            isPictures(it) && (
              <ButtonLink small to="/jobs/new" search={{ like: it.id }}>
                {t("jobs.fix_smaller")}
              </ButtonLink>
            )
          )}
        </Row>
        {!again && first !== "ask" && (
          <Row
            title={<span className="font-medium text-sm">{t("jobs.fix_again")}</span>}
            hint={t("jobs.fix_againSame")}
          >
            <AgainButton it={it} />
          </Row>
        )}
      </Panel>
    </Section>
  );
}
