import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { services } from "@/api/catalogue";
import type { Budget, Instance, Job } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useMe } from "@/api/session";
import { PageLink } from "@/app/page-link";
import { useInstanceActs, whyNotNow } from "@/domain/instances/acts";
import { type Advice, adviceFor } from "@/domain/instances/advice";
import { changeAndStart } from "@/domain/instances/change";
import { useDescribe } from "@/domain/instances/describe";
import { reasonOf, standingOf } from "@/domain/instances/standing";
import { RunningTime } from "@/domain/instances/ticking";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { costOf, perDay } from "@/lib/money";
import { Button, ButtonLink } from "@/ui/button";
import { Filled, slot } from "@/ui/filled";
import { Panel, Section } from "@/ui/page";
import { type Mark, Ring } from "@/ui/state";
import { notify } from "@/ui/toast";
import type { Need } from "./needs";

/** So many at once; the lists have the rest. */
const MOST = 6;

/** What failed, what is forgotten, and the press that mends it. */
export function NeedsLook({ needs }: { needs: readonly Need[] }) {
  const { t } = useText();
  return (
    <Section
      title={t("overview.needsLook")}
      actions={
        needs.length > MOST && (
          <Link to="/instances" className="text-sm text-ultra hover:underline">
            {t("overview.more", { count: needs.length - MOST })}
          </Link>
        )
      }
    >
      <Panel>
        <ul aria-label={t("overview.needsLook")}>
          {needs.slice(0, MOST).map((need) => (
            <One key={"it" in need ? need.it.id : need.kind} need={need} />
          ))}
        </ul>
      </Panel>
    </Section>
  );
}

function One({ need }: { need: Need }) {
  switch (need.kind) {
    case "budget":
      return <BudgetNeed budget={need.budget} />;
    case "failed":
      return <FailedNeed it={need.it} />;
    case "idle":
      return <IdleNeed it={need.it} since={need.since} stop_at={need.stop_at} />;
    case "forgotten":
      return <ForgottenNeed it={need.it} />;
    case "jobs":
      return <JobsNeed jobs={need.jobs} />;
  }
}

function Item({
  mark,
  title,
  children,
  acts,
}: {
  mark: Mark;
  title: ReactNode;
  children: ReactNode;
  acts: ReactNode;
}) {
  return (
    <li className="grid grid-cols-[0.625rem_minmax(0,1fr)_auto] items-center gap-x-3 gap-y-2 border-line border-b px-4 py-3 last:border-b-0">
      <Ring mark={mark} className="mt-1.5 self-start" />
      <div className="min-w-0 max-md:col-span-2">
        <h3 className="font-medium">{title}</h3>
        <p className="num max-w-[68ch] text-ink-2 text-sm">{children}</p>
      </div>
      <div className="flex flex-wrap gap-2 max-md:col-span-2 max-md:col-start-2">{acts}</div>
    </li>
  );
}

function Details({ it }: { it: Instance }) {
  const { t } = useText();
  return (
    <ButtonLink
      small
      kind="quiet"
      to="/instances/$id"
      params={{ id: it.id }}
      aria-label={t("overview.detailsOf", { name: it.name })}
    >
      {t("instances.details")}
    </ButtonLink>
  );
}

function FailedNeed({ it }: { it: Instance }) {
  const { t, language } = useText();
  const { data: offered = [] } = useQuery(services);
  const [first] = adviceFor(it, offered);
  const isStart = standingOf(it).word === "instances.notStarted";
  return (
    <Item
      mark="failed"
      title={t(isStart ? "overview.notStarted" : "overview.failed", { name: it.name })}
      acts={
        <>
          {first && <Mend it={it} advice={first} />}
          <Details it={it} />
        </>
      }
    >
      {reasonOf(it, t, language)}
    </Item>
  );
}

/** The press that helps most. What needs more than a press is on its page. */
function Mend({ it, advice }: { it: Instance; advice: Advice }) {
  const { t } = useText();
  const { money } = useFormat();
  const me = useMe();
  const act = useInstanceActs();
  const client = useQueryClient();
  const describe = useDescribe();
  const change = useAct((version: string, key) => changeAndStart(client, it, { version }, key), {
    onFailed: (error) =>
      notify({
        failed: true,
        title: t("instances.notStart", { name: it.name }),
        detail: describe(error),
      }),
  });
  const reason = whyNotNow(me, it, "start", t);
  const price = t("ui.perHour", { price: money(it.price_per_hour, it.currency) });
  switch (advice.kind) {
    case "version":
      return (
        <Button small disabled={reason} busy={change.busy} onClick={() => change.run(advice.version)}>
          {t("overview.startWith", { version: advice.version, price })}
        </Button>
      );
    case "again":
      return (
        <Button small disabled={reason} onClick={() => act("start", it)}>
          {t("overview.startAgainAt", { price })}
        </Button>
      );
    case "wait":
      return (
        <Button small disabled={reason} onClick={() => act("wait", it)}>
          {t("instances.startWhenRoom", { price })}
        </Button>
      );
    default:
      return null;
  }
}

function Stop({ it }: { it: Instance }) {
  const { t } = useText();
  const { money } = useFormat();
  const act = useInstanceActs();
  const price = t("ui.perHour", { price: money(it.price_per_hour, it.currency) });
  return (
    <Button small disabled={whyNotNow(useMe(), it, "stop", t)} onClick={() => act("stop", it)}>
      {t("instances.stop")}
      <span className="num font-normal text-ink-2">{t("overview.saves", { price })}</span>
      <span className="sr-only">{it.name}</span>
    </Button>
  );
}

function IdleNeed({ it, since, stop_at }: { it: Instance; since: string; stop_at: string }) {
  const { t } = useText();
  const { clock, money } = useFormat();
  const now = useNow();
  const cost = costOf(it.price_per_hour, Math.max(0, (now - Date.parse(since)) / 1000));
  return (
    <Item
      mark="moves"
      title={t("overview.idle", { name: it.name, when: clock(since) })}
      acts={
        <>
          <Stop it={it} />
          <Details it={it} />
        </>
      }
    >
      {t("overview.idleHint", { when: clock(stop_at), cost: money(cost, it.currency) })}
    </Item>
  );
}

function ForgottenNeed({ it }: { it: Instance }) {
  const { t } = useText();
  const { money } = useFormat();
  return (
    <Item
      mark="moves"
      title={
        <Filled
          text={t("overview.forgotten", { name: it.name, duration: slot(0) })}
          parts={[<RunningTime key="time" it={it} />]}
        />
      }
      acts={
        <>
          <Stop it={it} />
          <ButtonLink small kind="quiet" to="/instances/$id/settings" params={{ id: it.id }}>
            {t("overview.setIdleStop")}
          </ButtonLink>
        </>
      }
    >
      {t("overview.forgottenHint", { price: money(perDay(it.price_per_hour), it.currency) })}
    </Item>
  );
}

function JobsNeed({ jobs }: { jobs: readonly Job[] }) {
  const { t } = useText();
  const [latest] = jobs;
  return (
    <Item
      mark="failed"
      title={t("overview.jobsFailed", { count: jobs.length })}
      acts={
        <PageLink to="/jobs" label={t("overview.toJobs")} className="text-sm text-ultra hover:underline" />
      }
    >
      {latest?.problem ? t("overview.jobsLatest", { message: latest.problem.message }) : null}
    </Item>
  );
}

function BudgetNeed({ budget }: { budget: Budget }) {
  const { t } = useText();
  const { clock, money } = useFormat();
  const { currency } = budget.terms;
  return (
    <Item
      mark={budget.starts_refused ? "failed" : "moves"}
      title={
        budget.starts_refused || !budget.runs_out_at
          ? t("overview.budgetSpent", { amount: money(budget.terms.amount, currency) })
          : t("overview.budgetRunsOut", { when: clock(budget.runs_out_at) })
      }
      acts={
        <PageLink to="/usage" label={t("overview.usage")} className="text-sm text-ultra hover:underline" />
      }
    >
      {budget.starts_refused
        ? t("overview.budgetSpentHint", { when: clock(budget.renews_at) })
        : t(
            budget.terms.at_limit === "notify" ? "overview.budgetRunsOutTold" : "overview.budgetRunsOutStops",
            { rate: money(budget.rate_per_hour, currency) },
          )}
    </Item>
  );
}
