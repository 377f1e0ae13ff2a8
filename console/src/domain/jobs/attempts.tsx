import { useQuery } from "@tanstack/react-query";
import type { AttemptState, Job, JobAttempt } from "@/api/generated/types";
import { attempts } from "@/api/jobs/queries";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Section } from "@/ui/page";
import { type Mark, StateMark } from "@/ui/state";
import { type Column, Table } from "@/ui/table";

const marks: Record<AttemptState, Mark> = {
  open: "runs",
  succeeded: "done",
  failed: "failed",
  lost: "failed",
  preempted: "rests",
  cancelled: "rests",
};

/** Each try, with what ended it and what is charged of it. */
export function Attempts({ it }: { it: Job }) {
  const { t } = useText();
  const { data } = useQuery({ ...attempts(it.id), enabled: it.attempts > 0 });
  if (!data || data.length === 0) return null;
  const columns: Column<JobAttempt>[] = [
    {
      key: "attempt",
      label: t("jobs.attempts"),
      width: "minmax(8rem, 1fr)",
      cell: (one) => <Which one={one} />,
    },
    {
      key: "outcome",
      label: t("jobs.outcome"),
      width: "minmax(8rem, 1.4fr)",
      cell: (one) => <Outcome one={one} />,
    },
    { key: "charged", label: t("jobs.charged"), width: "6rem", cell: (one) => <Charged one={one} /> },
    { key: "not", label: t("jobs.notCharged"), width: "7rem", cell: (one) => <NotCharged one={one} /> },
  ];
  return (
    <Section title={t("jobs.attempts")} hint={t("jobs.attemptsHint")}>
      <Table
        label={t("jobs.attempts")}
        items={data}
        columns={columns}
        rowKey={(one) => String(one.attempt)}
        empty={null}
        narrow={(one) => (
          <div className="grid grid-cols-2 gap-x-4 gap-y-1.5">
            <Which one={one} />
            <Charged one={one} />
            <Outcome one={one} />
            <NotCharged one={one} />
          </div>
        )}
      />
    </Section>
  );
}

function Which({ one }: { one: JobAttempt }) {
  const { t } = useText();
  const { clock } = useFormat();
  return (
    <span className="num block min-w-0 text-sm">
      {t("jobs.attempt", { n: one.attempt })}
      <span className="block text-ink-3 text-xs">{clock(one.assigned_at)}</span>
      <span className="block truncate font-mono text-ink-3 text-xs" title={one.gpu_spec}>
        {one.gpu_spec}
      </span>
    </span>
  );
}

function Outcome({ one }: { one: JobAttempt }) {
  const { t } = useText();
  const words: Record<AttemptState, string> = {
    open: t("jobs.openAttempt"),
    lost: t("jobs.lost"),
    succeeded: t("jobs.attemptWas_succeeded"),
    failed: t("jobs.attemptWas_failed"),
    preempted: t("jobs.attemptWas_preempted"),
    cancelled: t("jobs.attemptWas_cancelled"),
  };
  const why = one.problem && (
    <span className="line-clamp-2" title={one.problem.message}>
      {one.problem.message}
    </span>
  );
  return (
    <StateMark mark={marks[one.state]} reason={why}>
      {words[one.state]}
    </StateMark>
  );
}

function Charged({ one }: { one: JobAttempt }) {
  const { money, duration } = useFormat();
  if (one.cost === null || !one.currency) return <span className="text-ink-3 text-sm">–</span>;
  return (
    <span className="num block text-sm">
      {money(one.cost, one.currency)}
      {one.seconds !== null && <span className="block text-ink-3 text-xs">{duration(one.seconds)}</span>}
    </span>
  );
}

function NotCharged({ one }: { one: JobAttempt }) {
  const { t } = useText();
  const { duration } = useFormat();
  if (!one.uncharged_seconds) return <span className="text-ink-3 text-sm">–</span>;
  return (
    <span className="num block text-sm">
      {duration(one.uncharged_seconds)}
      {one.uncharged_reason && (
        <span className="block text-ink-3 text-xs">{t(`jobs.because_${one.uncharged_reason}`)}</span>
      )}
    </span>
  );
}
