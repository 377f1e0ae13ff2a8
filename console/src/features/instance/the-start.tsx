import { useQuery } from "@tanstack/react-query";
import { clsx } from "clsx";
import { storages } from "@/api/catalogue";
import type { Event, Instance } from "@/api/generated/types";
import { operationOf, people } from "@/api/instances/details";
import { useMe } from "@/api/session";
import { useActorName } from "@/domain/actor";
import { serviceTitle } from "@/domain/instances/open-link";
import { isMoving, reasonOf } from "@/domain/instances/standing";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { Panel, Section } from "@/ui/page";
import { type Mark, Ring } from "@/ui/state";
import { useStepText } from "./step-text";
import { type Step, type Timeline, timelineOf } from "./timeline";

/** Each step of the last start, with its time and reason; while it starts, as it goes on. */
export function TheStart({
  it,
  events,
  main,
}: {
  it: Instance;
  events: readonly Event[] | undefined;
  /** Alone in the wide column, while it starts. */
  main?: boolean;
}) {
  const { t } = useText();
  const { duration } = useFormat();
  const timeline = events && timelineOf(events, it);
  if (!timeline) return null;
  const list = <Steps it={it} timeline={timeline} />;
  return (
    <Section
      title={t(
        it.state === "stopping" ? "instance.theStop" : main ? "instance.starting" : "instance.theStart",
      )}
      actions={
        <span className="num text-ink-2 text-sm">
          {timeline.seconds === null
            ? it.state !== "stopped" && <Elapsed since={timeline.asked_at} />
            : duration(timeline.seconds)}
        </span>
      }
    >
      {main ? (
        <Panel className="p-5">
          <Progress it={it} />
          {list}
        </Panel>
      ) : (
        list
      )}
    </Section>
  );
}

function Elapsed({ since }: { since: string }) {
  const { duration } = useFormat();
  const now = useNow();
  return <>{duration((now - Date.parse(since)) / 1000)}</>;
}

/** How much of it is done, where the platform knows it. */
function Progress({ it }: { it: Instance }) {
  const { t } = useText();
  const { data } = useQuery({
    ...operationOf(it.operation_id),
    enabled: isMoving(it),
    refetchInterval: 2000,
  });
  const percent = data?.progress.percent;
  if (percent == null || data?.target !== it.id) return null;
  return (
    <div className="mb-5">
      <div
        role="progressbar"
        aria-label={t("instance.progress")}
        aria-valuenow={percent}
        aria-valuemin={0}
        aria-valuemax={100}
        className="h-1.5 rounded-sm bg-wash"
      >
        <div className="h-full rounded-sm bg-ochre" style={{ width: `${percent}%` }} />
      </div>
    </div>
  );
}

const marks: Record<Step["state"], Mark> = { done: "runs", now: "moves", ahead: "rests", failed: "failed" };

const rests = new Set<Event["type"]>(["instance.stopped", "instance.hold_started"]);
const markOf = ({ state, event }: Step): Mark => (event && rests.has(event.type) ? "rests" : marks[state]);

function Steps({ it, timeline }: { it: Instance; timeline: Timeline }) {
  const { t, language } = useText();
  const me = useMe();
  const { data: names } = useQuery({
    ...people(me.tenant_id as NonNullable<typeof me.tenant_id>),
    enabled: me.tenant_id !== null,
  });
  const { data: known } = useQuery({ ...storages, enabled: it.storages.length > 0 });
  const nameOf = useActorName(names);
  const textOf = useStepText({
    storages: it.storages.flatMap(
      (one) => known?.find((storage) => storage.id === one.storage_id)?.name ?? [],
    ),
    actor: timeline.actor ? nameOf(timeline.actor) : null,
    service: serviceTitle(it),
    node: it.node,
  });
  const { steps } = timeline;
  return (
    <ol className="text-sm">
      {steps.map((step, i) => {
        const { title, detail } = textOf(step);
        const reason =
          step.state === "now" || step.state === "failed" || step.kind === "after"
            ? reasonOf({ reason: step.reason, message: step.message }, t, language)
            : null;
        return (
          <li
            key={step.event?.id ?? `${step.kind}-${step.state}`}
            aria-current={step.state === "now" ? "step" : undefined}
            className="relative grid grid-cols-[0.625rem_minmax(0,1fr)_auto] gap-x-3 pb-3.5 last:pb-0"
          >
            {i < steps.length - 1 && (
              <span
                aria-hidden="true"
                className="absolute top-4.5 -bottom-0.5 left-[4.5px] w-px bg-line-strong opacity-60"
              />
            )}
            <Ring mark={markOf(step)} className="mt-1.25" />
            <span
              className={clsx(
                step.state === "ahead" && "text-ink-3",
                step.state === "now" && "font-medium text-ochre",
                step.state === "failed" && "font-medium text-vermilion",
              )}
            >
              {title}
            </span>
            <StepTime step={step} />
            {(reason || detail) && (
              <span className="col-span-2 col-start-2 text-ink-3 text-xs">{reason ?? detail}</span>
            )}
          </li>
        );
      })}
    </ol>
  );
}

function StepTime({ step }: { step: Step }) {
  const { clock, seconds, duration } = useFormat();
  const now = useNow();
  const className = "num text-ink-2";
  if (step.state === "ahead") return <span className="text-ink-3">–</span>;
  if (step.state === "now" && step.since)
    return <span className={className}>{duration((now - Date.parse(step.since)) / 1000)}</span>;
  if (step.kind === "after" && step.at) return <span className={className}>{clock(step.at)}</span>;
  if (step.took === null && step.at) return <span className={className}>{seconds(step.at)}</span>;
  return <span className={className}>{duration(step.took ?? 0)}</span>;
}
