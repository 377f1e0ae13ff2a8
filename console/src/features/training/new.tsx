import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import type { JobId } from "@/api/generated/types";
import { askedFor } from "@/api/jobs/asked";
import { jobQuote } from "@/api/jobs/queries";
import { baseModels } from "@/api/models";
import { useLoaded } from "@/api/query";
import { useMe } from "@/api/session";
import { useWhyNot } from "@/app/roles";
import { LevelCards } from "@/domain/jobs/level-cards";
import { Fact, SubmitBar, Summary } from "@/domain/jobs/summary";
import { useUploads } from "@/domain/uploads/use-uploads";
import { useText } from "@/i18n";
import { useSettled } from "@/lib/settled";
import { ButtonLink } from "@/ui/button";
import { PageHead, Section } from "@/ui/page";
import { LimitField, MethodFields, SubjectFields } from "./fields";
import { canQuote, DEFAULT_BASE, draftLike, emptyDraft, FEWEST, MOST, orderOf, quotedPart } from "./order";
import { PictureFields } from "./pictures";
import { useTrain } from "./use-train";

const route = getRouteApi("/_app/training/new");

export function NewTrainingPage() {
  const { t } = useText();
  const search = route.useSearch();
  const me = useMe();
  const bases = useLoaded(baseModels).filter((it) => it.kind === "base_model");
  const uploads = useUploads();
  const whyNot = useWhyNot("jobs.write");
  const [initial] = useState(() => {
    const like = search.like && askedFor(me.user.id, search.like as JobId);
    if (like) return draftLike(like);
    const wanted = bases.find((it) => it.name === search.base);
    // what most workers have: it starts soonest
    const most = bases.toSorted((a, b) => b.workers - a.workers)[0];
    return emptyDraft((wanted ?? most)?.name ?? DEFAULT_BASE);
  });
  const [currency, setCurrency] = useState("USD");
  const { form, images, busy, refusal, isAtField } = useTrain(initial, uploads, currency);
  const isEnough = images.length >= FEWEST && images.length <= MOST;
  const isReady = canQuote(form.values, images.length);
  const quoted = useSettled(quotedPart(form.values, images));
  const quote = useQuery({
    ...jobQuote(quoted),
    enabled: isReady && !whyNot,
    placeholderData: keepPreviousData,
  });
  const known = isReady ? quote.data : undefined;
  const theirs = known?.costs[0]?.currency;
  if (theirs && theirs !== currency) setCurrency(theirs);
  const moving = uploads.pictures.some((it) => it.state === "sending" || it.state === "reading");
  const cut = uploads.pictures.some((it) => it.state === "cut");
  const { values } = form;
  const base = values["parameters.base_model"];
  const sum = {
    body: orderOf(values, images, currency),
    quote: known,
    quoteError: isReady ? quote.error : null,
    reason: whyNot || (moving && t("training.picturesMoving")) || (cut && t("training.picturesCut")),
    busy,
    refusal,
    isAtField,
    verb: t("training.verb"),
    missing: isReady ? undefined : t("training.quoteNeeds"),
    results: t("training.lands"),
    children: (
      <>
        <Fact name={t("training.images")}>{images.length}</Fact>
        <Fact name={t("training.base")}>
          {base === DEFAULT_BASE ? (
            t("training.baseDefault")
          ) : (
            <span className="font-mono text-xs">{base}</span>
          )}
          <span className="block text-ink-3 text-xs">
            {t("training.stepsAndRank", {
              steps: values["parameters.steps"] || "–",
              rank: values["parameters.rank"] || "–",
            })}
          </span>
        </Fact>
      </>
    ),
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!sum.reason && !busy) form.submit();
  };
  return (
    <>
      <PageHead
        title={t("training.newTitle")}
        up={{ label: t("training.title"), link: { to: "/training" } }}
        actions={
          <ButtonLink kind="quiet" to="/training">
            {t("ui.cancel")}
          </ButtonLink>
        }
      >
        {t("training.newSentence")}
      </PageHead>
      <form
        noValidate
        onSubmit={submit}
        className="grid grid-cols-[minmax(0,1fr)] items-start gap-8 max-lg:pb-20 lg:grid-cols-[minmax(0,1fr)_19rem]"
      >
        <div className="min-w-0">
          <Section title={t("training.images")} hint={t("training.picturesHint")}>
            <PictureFields
              uploads={uploads}
              reason={whyNot}
              error={isEnough ? undefined : form.errors["parameters.images"]}
            />
          </Section>
          <SubjectFields form={form} />
          <MethodFields form={form} bases={bases} />
          <Section title={t("newJob.when")} hint={t("newJob.whenHint")}>
            <LevelCards
              value={form.values.level}
              order={quoted}
              isQuotable={isReady && !whyNot}
              onChange={(level) => form.set("level", level)}
            />
            <LimitField form={form} quote={known} />
          </Section>
        </div>
        <Summary {...sum} />
        <SubmitBar {...sum} />
      </form>
    </>
  );
}
