import { useQuery } from "@tanstack/react-query";
import type { Job, JobEvent, JobEventType } from "@/api/generated/types";
import { jobHistory } from "@/api/jobs/queries";
import { type Text, useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Panel, Section } from "@/ui/page";
import { type Mark, Ring } from "@/ui/state";

const marks: Partial<Record<JobEventType, Mark>> = {
  "job.started": "runs",
  "job.preempting": "moves",
  "job.cancelling": "moves",
  "job.succeeded": "done",
  "job.failed": "failed",
  "job.expired": "failed",
};

function wordsOf(event: JobEvent, t: Text): string {
  switch (event.type) {
    case "job.changed":
      return event.reason
        ? t(`jobs.${event.reason}`)
        : t("jobs.event_changed", { level: t(`jobs.${event.level}`), priority: event.priority });
    case "job.requeued":
      return [t("jobs.event_requeued"), event.reason && t(`jobs.${event.reason}`)].filter(Boolean).join(". ");
    case "job.submitted":
      return t("jobs.event_submitted");
    case "job.assigned":
      return t("jobs.event_assigned");
    case "job.started":
      return t("jobs.event_started");
    case "job.progress":
      return t("jobs.event_progress");
    case "job.preempting":
      return t("jobs.event_preempting");
    case "job.cancelling":
      return t("jobs.event_cancelling");
    case "job.succeeded":
      return t("jobs.event_succeeded");
    case "job.failed":
      return t("jobs.event_failed");
    case "job.cancelled":
      return t("jobs.event_cancelled");
    case "job.expired":
      return t("jobs.event_expired");
  }
}

/** What happened to it, newest first. */
export function Timeline({ it }: { it: Job }) {
  const { t } = useText();
  const { seconds } = useFormat();
  const { data } = useQuery(jobHistory(it.id));
  if (!data || data.length === 0) return null;
  return (
    <Section title={t("jobs.timeline")}>
      <Panel>
        <ol className="px-4 py-2">
          {data.map((event) => (
            <li key={event.id} className="flex items-baseline gap-3 py-1.5 text-sm">
              <Ring mark={marks[event.type] ?? "rests"} />
              <span className="min-w-0 flex-1">{wordsOf(event, t)}</span>
              <time dateTime={event.time} className="num shrink-0 text-ink-3 text-xs">
                {seconds(event.time)}
              </time>
            </li>
          ))}
        </ol>
      </Panel>
    </Section>
  );
}
