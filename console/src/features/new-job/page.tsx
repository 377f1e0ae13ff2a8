import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type FormEvent, lazy, Suspense, useState } from "react";
import type { Artifact, Job, JobId, Model, ModelId } from "@/api/generated/types";
import { pictureText } from "@/api/jobs/picture-text";
import { adapters, artifacts, checkpoints, job, jobQuote } from "@/api/jobs/queries";
import { model } from "@/api/models";
import { useLoaded } from "@/api/query";
import { useWhyNot } from "@/app/roles";
import { useAsked } from "@/domain/jobs/asked";
import { LevelCards } from "@/domain/jobs/level-cards";
import { parametersOf, withText } from "@/domain/jobs/parameters";
import { isPicture } from "@/domain/jobs/picture";
import { Fact, SubmitBar, Summary } from "@/domain/jobs/summary";
import { useText } from "@/i18n";
import { useSettled } from "@/lib/settled";
import { ButtonLink } from "@/ui/button";
import { PageHead, Section } from "@/ui/page";
import { Begin } from "./begin";
import { type Draft, draftLike, draftWith, emptyDraft, isQuotable, orderOf, quotedPart } from "./order";
import { PromptFields, SizeFields } from "./picture-fields";
import { useOrder } from "./use-order";

const ModelFields = lazy(() => import("./model-fields"));
const More = lazy(() => import("./more"));
const Program = lazy(() => import("./program"));

const route = getRouteApi("/_app/jobs/new");

export function NewJobPage() {
  const { t } = useText();
  const search = route.useSearch();
  const isProgram = search.kind === "program";
  return (
    <>
      <PageHead
        title={t(isProgram ? "newJob.programTitle" : "newJob.title")}
        up={{ label: t("jobs.title"), link: { to: "/jobs" } }}
        actions={
          <ButtonLink kind="quiet" to="/jobs/new" search={isProgram ? {} : { kind: "program" }}>
            {t(isProgram ? "newJob.toPictures" : "newJob.toProgram")}
          </ButtonLink>
        }
      >
        {t(isProgram ? "newJob.programHint" : "newJob.hint")}
      </PageHead>
      {isProgram ? (
        <Suspense>
          <Program />
        </Suspense>
      ) : search.like ? (
        <LikeForm key={`${search.like} ${search.picture}`} id={search.like} />
      ) : (
        <ModelForm key={search.model} id={search.model} pool={search.pool} />
      )}
    </>
  );
}

/** An empty form, or one with a model of the studio. */
function ModelForm({ id, pool = "" }: { id: ModelId | undefined; pool: string | undefined }) {
  const { data: wanted } = useQuery({ ...model(id ?? ("" as ModelId)), enabled: id !== undefined });
  return (
    <PictureForm
      key={wanted?.id}
      initial={{ ...(wanted ? draftWith(wanted) : emptyDraft), pool }}
      model={wanted}
    />
  );
}

/** Form values copied from another job, as far as its parameters are known. */
function LikeForm({ id }: { id: JobId }) {
  const { t } = useText();
  const { picture, begin, pool } = route.useSearch();
  const it = useLoaded(job(id));
  const { order, name } = useAsked(it);
  const { data: made } = useQuery({ ...artifacts(id), enabled: it.state === "succeeded" });
  const file = made?.find((one) => one.id === picture) ?? made?.find(isPicture);
  const { data: written } = useQuery({
    ...pictureText(id, file ?? { id: "" as never, content_type: "" }),
    enabled: file !== undefined,
  });
  const known = withText(parametersOf(order), written);
  const initial = known ? draftLike(known, order) : emptyDraft;
  const source = begin ? made?.find((one) => one.id === begin) : undefined;
  return (
    <>
      <p className="mb-5 text-ink-2 text-sm">
        {known ? t("newJob.likeHint", { name }) : t("newJob.unknownLike")}
      </p>
      <PictureForm
        // what the picture tells may come after the page
        key={known ? "known" : "unknown"}
        initial={{ ...initial, pool: pool ?? "" }}
        source={source && { job: it, artifact: source }}
      />
    </>
  );
}

function PictureForm({
  initial,
  source,
  model: wanted,
}: {
  initial: Draft;
  /** Offered, however old it is. */
  model?: Model | undefined;
  source?: { job: Job; artifact: Artifact } | undefined;
}) {
  const { t } = useText();
  const role = useWhyNot("jobs.write");
  const models = useLoaded(checkpoints);
  const newest = useLoaded(adapters);
  const trained = wanted && !newest.some((it) => it.id === wanted.id) ? [wanted, ...newest] : newest;
  const [isDropped, setDropped] = useState(false);
  const image = source && !isDropped ? source.artifact.id : undefined;
  const [currency, setCurrency] = useState("USD");
  const form = useOrder(initial, image !== undefined, (draft) => orderOf(draft, currency, image));
  const { values } = form;
  const body = orderOf(values, currency, image);
  const isWhole = isQuotable(values);
  const quoted = useSettled(quotedPart(body));
  const { data: quote, error: quoteError } = useQuery({
    ...jobQuote(quoted),
    enabled: isWhole,
    placeholderData: keepPreviousData,
  });
  const known = quote?.costs[0]?.currency;
  if (known && known !== currency) setCurrency(known);
  const count = Number(values["parameters.images"]);
  const sum = {
    body,
    quote: isWhole ? quote : undefined,
    quoteError: isWhole ? quoteError : null,
    reason: role,
    busy: form.busy,
    refusal: form.refusal,
    isAtField: form.isAtField,
    verb: t("newJob.make", { count }),
    children: (
      <Fact name={t("newJob.picture")}>
        {t("newJob.makes", { count })}
        <span className="block text-ink-3 text-xs">
          {t("newJob.sizeOf", { width: values["parameters.width"], height: values["parameters.height"] })}
          {" · "}
          {values["parameters.model"] === "default" ? t("newJob.defaultModel") : values["parameters.model"]}
        </span>
      </Fact>
    ),
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!role && !form.busy) form.submit();
  };
  return (
    <form
      noValidate
      onSubmit={submit}
      className="grid grid-cols-[minmax(0,1fr)] items-start gap-8 max-lg:pb-20 lg:grid-cols-[minmax(0,1fr)_19rem]"
    >
      <div className="min-w-0">
        {source && image && (
          <Begin job={source.job} artifact={source.artifact} form={form} onDrop={() => setDropped(true)} />
        )}
        <Section title={t("newJob.words")}>
          <PromptFields form={form} />
        </Section>
        <Section title={t("newJob.picture")}>
          <SizeFields form={form} />
        </Section>
        <Section title={t("newJob.model")}>
          <Suspense fallback={<div className="h-38" />}>
            <ModelFields form={form} checkpoints={models} adapters={trained} />
          </Suspense>
        </Section>
        <Section title={t("newJob.when")} hint={t("newJob.whenHint")}>
          <LevelCards
            value={values.level}
            order={quoted}
            isQuotable={isWhole}
            onChange={(level) => form.set("level", level)}
          />
        </Section>
        <Suspense>
          <More form={form} currency={currency} />
        </Suspense>
      </div>
      <Summary {...sum} />
      <SubmitBar {...sum} />
    </form>
  );
}
