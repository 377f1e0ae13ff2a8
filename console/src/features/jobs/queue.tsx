import { Link } from "@tanstack/react-router";
import { ChevronDown, X } from "lucide-react";
import type { Job, JobId } from "@/api/generated/types";
import { useMe } from "@/api/session";
import { useCancel, whyNotCancel } from "@/domain/jobs/acts";
import { pageOf } from "@/domain/jobs/address";
import { useAsked } from "@/domain/jobs/asked";
import { CostCell } from "@/domain/jobs/cost";
import { JobMenu } from "@/domain/jobs/menu";
import { ProgressBar } from "@/domain/jobs/progress-bar";
import { reasonOf, standingOf } from "@/domain/jobs/standing";
import { Thumb } from "@/domain/jobs/thumb";
import { Why } from "@/domain/jobs/why";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button, IconButton } from "@/ui/button";
import { Panel } from "@/ui/page";
import { StateMark } from "@/ui/state";

/** Jobs that run or wait: those that run first, then in the order in which the studio's own start. */
export function Queue({
  items,
  why,
  onWhy,
}: {
  items: readonly Job[];
  /** The one that is explained. */
  why: JobId | undefined;
  onWhy: (id: JobId | undefined) => void;
}) {
  return (
    <Panel>
      <ul>
        {items.map((it) => (
          <QueueRow
            key={it.id}
            it={it}
            isExplained={why === it.id}
            onExplain={(on) => onWhy(on ? it.id : undefined)}
          />
        ))}
      </ul>
    </Panel>
  );
}

function QueueRow({
  it,
  isExplained,
  onExplain,
}: {
  it: Job;
  isExplained: boolean;
  onExplain: (on: boolean) => void;
}) {
  const { t } = useText();
  const me = useMe();
  const { name, isKnown } = useAsked(it);
  const cancel = useCancel(it);
  return (
    <li className="border-line border-b px-4 py-3 last:border-b-0">
      <div className="grid grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-4 gap-y-2 md:grid-cols-[auto_minmax(0,1fr)_13rem_5.5rem_auto]">
        <Thumb it={it} />
        <JobName it={it} name={name} isKnown={isKnown} />
        <div className="max-md:order-4 max-md:col-span-2">
          <Standing it={it} name={name} isExplained={isExplained} onExplain={onExplain} />
        </div>
        <div className="max-md:order-5 max-md:text-right">
          <CostCell it={it} />
        </div>
        <div className="flex items-center max-md:-mr-2">
          <IconButton
            label={t("jobs.cancelOf", { name })}
            busy={cancel.busy}
            disabled={whyNotCancel(me, it, t)}
            onClick={() => cancel.run()}
          >
            <X className="size-4" aria-hidden="true" />
          </IconButton>
          <JobMenu it={it} />
        </div>
      </div>
      {isExplained && it.state === "queued" && (
        <div className="mt-3 md:pl-15">
          <Why it={it} />
        </div>
      )}
    </li>
  );
}

function JobName({ it, name, isKnown }: { it: Job; name: string; isKnown: boolean }) {
  const { t } = useText();
  const { clock } = useFormat();
  const about = [
    isKnown && t(`jobs.${it.kind}`),
    it.level !== "ordinary" && t(`jobs.${it.level}`),
    t("jobs.waitsSince", { when: clock(it.created_at) }),
    it.group && t("jobs.groupOf", { group: it.group }),
  ];
  return (
    <span className="block min-w-0">
      <Link {...pageOf(it)} className="block truncate font-medium hover:text-ultra hover:underline">
        {name}
      </Link>
      <span className="num block truncate text-ink-3 text-xs">{about.filter(Boolean).join(" · ")}</span>
    </span>
  );
}

function Standing({
  it,
  name,
  isExplained,
  onExplain,
}: {
  it: Job;
  name: string;
  isExplained: boolean;
  onExplain: (on: boolean) => void;
}) {
  const { t } = useText();
  const { mark, word } = standingOf(it);
  if (it.state === "running")
    return (
      <>
        <StateMark mark={mark}>{t(word)}</StateMark>
        <ProgressBar it={it} name={name} />
      </>
    );
  if (it.state !== "queued")
    return (
      <StateMark mark={mark} reason={t(it.state === "assigned" ? "jobs.starts" : "jobs.stops")}>
        {t(word)}
      </StateMark>
    );
  const words = t(isExplained ? "jobs.hideWhy" : "jobs.whyWaits");
  return (
    <>
      <StateMark mark={mark} reason={reasonOf(it, t)}>
        {t(word)}
      </StateMark>
      <Button
        kind="quiet"
        small
        aria-expanded={isExplained}
        aria-label={`${words} ${name}`}
        className="-ml-2.5"
        onClick={() => onExplain(!isExplained)}
      >
        {words}
        <ChevronDown
          className={`size-3.5 transition-transform ${isExplained ? "rotate-180" : ""}`}
          aria-hidden="true"
        />
      </Button>
    </>
  );
}
