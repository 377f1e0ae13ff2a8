import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import type { Job, JobAttempt, JobId, Model } from "@/api/generated/types";
import { hasEnded } from "@/api/jobs/cache";
import { artifacts as artifactsQuery, attempts as attemptsQuery, job } from "@/api/jobs/queries";
import { model as modelQuery } from "@/api/models";
import { useLoaded } from "@/api/query";
import { useMe } from "@/api/session";
import { useWhyNot } from "@/app/roles";
import { whyNotCancel } from "@/domain/jobs/acts";
import { JobAnnouncements } from "@/domain/jobs/announcements";
import { useAsked } from "@/domain/jobs/asked";
import { Attempts } from "@/domain/jobs/attempts";
import { JobLogSection } from "@/domain/jobs/log";
import { ProgressBar } from "@/domain/jobs/progress-bar";
import { reasonOf, standingOf } from "@/domain/jobs/standing";
import { Timeline } from "@/domain/jobs/timeline";
import { Why } from "@/domain/jobs/why";
import { MakePictures } from "@/domain/models/make-pictures";
import { useText } from "@/i18n";
import { drawnLater } from "@/lib/later";
import { Button, ButtonLink } from "@/ui/button";
import { PageHead, Panel, Section } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { RunFacts } from "./facts";
import { Failed } from "./failed";
import { LossSection } from "./loss-section";
import { Outcome } from "./outcome";
import { useRunSentence } from "./sentence";

const route = getRouteApi("/_app/training/$id");

const StopDialog = drawnLater(() => import("./stop"));

/** No event tells that the work has begun: until then attempts are asked for, in milliseconds. */
const LOOK = 2000;

const isLoading = ({ ended_at, working_at }: JobAttempt) => !ended_at && !working_at;

/** A training without a model has none but what it was asked for. */
const useModel = ({ model_id }: Job) =>
  useQuery({ ...modelQuery(model_id ?? ("" as Model["id"])), enabled: model_id !== null });

export function TrainingPage() {
  const { t } = useText();
  const id = route.useParams().id as JobId;
  const it = useLoaded(job(id));
  const attempts = useLoaded(attemptsQuery(id));
  useQuery({ ...attemptsQuery(id), refetchInterval: attempts.some(isLoading) && LOOK });
  const { data: model } = useModel(it);
  const { data: artifacts } = useQuery({ ...artifactsQuery(id), enabled: hasEnded(it) });
  const { name } = useAsked(it);
  const title = model?.name ?? name;
  const sentence = useRunSentence(it, attempts);
  const { mark, word } = standingOf(it);
  const [isStopping, setStopping] = useState(false);
  return (
    <>
      <PageHead
        title={title}
        up={{ label: t("training.title"), link: { to: "/training" } }}
        mark={
          <span role="status">
            <StateMark mark={mark}>{t(word)}</StateMark>
          </span>
        }
        actions={<HeadActions it={it} model={model} onStop={() => setStopping(true)} />}
      >
        {sentence}
      </PageHead>
      <JobAnnouncements items={[it]} />
      <RunFacts it={it} model={model} attempts={attempts} />
      <div className="grid gap-x-8 gap-y-6 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <div className="min-w-0">
          <Standing it={it} title={title} />
          <LossSection it={it} artifacts={artifacts} />
          <Attempts it={it} />
          <JobLogSection it={it} />
        </div>
        <div className="min-w-0">
          <Outcome it={it} model={model} artifacts={artifacts} />
          <Timeline it={it} />
        </div>
      </div>
      {isStopping && !hasEnded(it) && it.state !== "cancelling" && (
        <StopDialog it={it} attempts={attempts} onClose={() => setStopping(false)} />
      )}
    </>
  );
}

/** What the state asks for: why it waits, how far it is, why it failed. */
function Standing({ it, title }: { it: Job; title: string }) {
  const { t } = useText();
  if (it.problem) return <Failed problem={it.problem} />;
  if (hasEnded(it)) return null;
  if (it.state === "queued")
    return (
      <Section title={t("jobs.whyWaits")} hint={reasonOf(it, t)}>
        <Panel className="px-4 py-3">
          <Why it={it} />
        </Panel>
      </Section>
    );
  return (
    <Section title={t("training.progress")}>
      <Panel className="px-4 py-3">
        <ProgressBar it={it} name={t("training.progressOf", { name: title })} />
        <p className="mt-1.5 text-ink-2 text-sm">{t(`training.phase_${it.progress?.phase ?? "loading"}`)}</p>
      </Panel>
    </Section>
  );
}

function HeadActions({ it, model, onStop }: { it: Job; model: Model | undefined; onStop: () => void }) {
  const { t } = useText();
  const me = useMe();
  const reason = useWhyNot("jobs.write");
  if (!hasEnded(it))
    return (
      <Button disabled={whyNotCancel(me, it, t)} onClick={onStop}>
        {t("training.stop")}
      </Button>
    );
  if (model)
    return (
      <MakePictures kind="primary" model={model.id}>
        {t("training.picturesWith")}
      </MakePictures>
    );
  return reason ? (
    <Button disabled={reason}>{t("training.again")}</Button>
  ) : (
    <ButtonLink to="/training/new" search={{ like: it.id }}>
      {t("training.again")}
    </ButtonLink>
  );
}
