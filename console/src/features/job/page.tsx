import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { Job, JobId } from "@/api/generated/types";
import { hasEnded } from "@/api/jobs/cache";
import { artifacts, job } from "@/api/jobs/queries";
import { useLoaded } from "@/api/query";
import { useMe } from "@/api/session";
import { useCancel, whyNotCancel } from "@/domain/jobs/acts";
import { JobAnnouncements } from "@/domain/jobs/announcements";
import { useAsked } from "@/domain/jobs/asked";
import { Attempts } from "@/domain/jobs/attempts";
import { JobLogSection } from "@/domain/jobs/log";
import { JobMenu } from "@/domain/jobs/menu";
import { isPictures } from "@/domain/jobs/parameters";
import { isPicture } from "@/domain/jobs/picture";
import { ProgressBar } from "@/domain/jobs/progress-bar";
import { reasonOf, standingOf } from "@/domain/jobs/standing";
import { Timeline } from "@/domain/jobs/timeline";
import { Why } from "@/domain/jobs/why";
import { useText } from "@/i18n";
import { drawnLater } from "@/lib/later";
import { Button, ButtonLink } from "@/ui/button";
import { PageHead, Panel, Section } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { AgainButton, FailedReason, WhatToDo } from "./failed";
import { Coming, Results } from "./pictures";
import { useJobSentence } from "./sentence";
import { Side } from "./side";

const Viewer = drawnLater(() => import("@/domain/jobs/viewer"));

const route = getRouteApi("/_app/jobs/$id");

export function JobPage() {
  const { t } = useText();
  const it = useLoaded(job(route.useParams().id as JobId));
  const { name } = useAsked(it);
  const { mark, word } = standingOf(it);
  const sentence = useJobSentence(it);
  return (
    <>
      <PageHead
        title={name.length > 90 ? `${name.slice(0, 88)}…` : name}
        up={{ label: t("jobs.title"), link: { to: "/jobs" } }}
        mark={
          <span role="status">
            <StateMark mark={mark}>{t(word)}</StateMark>
          </span>
        }
        actions={<Actions it={it} />}
      >
        {sentence}
      </PageHead>
      <JobAnnouncements items={[it]} />
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-8 lg:grid-cols-[minmax(0,1fr)_19rem]">
        <div className="min-w-0">
          <Standing it={it} name={name} />
          {it.state === "succeeded" && <Results it={it} />}
          <JobLogSection it={it} />
          <Attempts it={it} />
          <Timeline it={it} />
        </div>
        <Side it={it} />
      </div>
      <Large it={it} />
    </>
  );
}

function Actions({ it }: { it: Job }) {
  const { t } = useText();
  const me = useMe();
  const cancel = useCancel(it);
  return (
    <>
      {!hasEnded(it) && (
        <Button busy={cancel.busy} disabled={whyNotCancel(me, it, t)} onClick={() => cancel.run()}>
          {t("jobs.cancel")}
        </Button>
      )}
      {it.state === "succeeded" && isPictures(it) && (
        <ButtonLink kind="primary" to="/jobs/new" search={{ like: it.id }}>
          {t("jobs.moreLike")}
        </ButtonLink>
      )}
      {(it.state === "cancelled" || it.state === "expired") && <AgainButton it={it} kind="primary" />}
      <JobMenu it={it} here />
    </>
  );
}

/** What the state asks for: how far, why it waits, why it failed. */
function Standing({ it, name }: { it: Job; name: string }) {
  const { t } = useText();
  const reason = reasonOf(it, t);
  switch (it.state) {
    case "running":
      return (
        <>
          <Panel className="mb-6 px-4 py-3">
            <ProgressBar it={it} name={name} />
          </Panel>
          <Coming it={it} />
        </>
      );
    case "queued":
      return (
        <Section title={t("jobs.whyWaits")} hint={reason}>
          <Panel className="px-4 py-3">
            <Why it={it} />
          </Panel>
        </Section>
      );
    case "failed":
      return (
        <>
          <FailedReason it={it} />
          <WhatToDo it={it} />
        </>
      );
    default:
      return null;
  }
}

/** The picture in the address, over the whole window. */
function Large({ it }: { it: Job }) {
  const { picture } = route.useSearch();
  const navigate = route.useNavigate();
  const { data } = useQuery({ ...artifacts(it.id), enabled: picture !== undefined });
  const pictures = (data ?? []).filter(isPicture).map((artifact) => ({ job: it, artifact }));
  const at = pictures.findIndex(({ artifact }) => artifact.id === picture);
  if (at < 0) return null;
  const go = (next: string | undefined) =>
    void navigate({ search: next ? { picture: next } : {}, replace: true, resetScroll: false });
  return (
    <Viewer
      here
      pictures={pictures}
      at={at}
      onGo={(next) => go(pictures[next]?.artifact.id)}
      onClose={() => go(undefined)}
    />
  );
}
