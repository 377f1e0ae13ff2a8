import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { asCurl, call } from "@/api/client";
import { updatePlatformPool } from "@/api/generated/operations";
import type { PoolPatch } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { useAct, useLoaded } from "@/api/query";
import { ChangedMeanwhile, DifferenceText, differencesOf } from "@/domain/catalogue/changed";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button, ButtonLink } from "@/ui/button";
import { Changes } from "@/ui/changes";
import { CopyCurl } from "@/ui/copy";
import { ErrorLine } from "@/ui/error";
import { PageHead, Section } from "@/ui/page";
import { notify } from "@/ui/toast";
import { ApplicationFields } from "./about-fields";
import { checkDraft } from "./check";
import { useConsequences } from "./consequences";
import { draftOf, merged, patchOf } from "./draft";
import { FactorFields } from "./factor-fields";
import { usePoolFacts } from "./facts";
import { PoolFacts } from "./facts-row";
import { FormFrame } from "./form-frame";
import { pool as poolQuery } from "./queries";
import { WorkerFields } from "./worker-fields";

const route = getRouteApi("/_app/admin/pools/$id_/edit");

/** Workers, factors and applications: nothing else of a pool can change. */
export function EditPoolPage() {
  const { t } = useText();
  const client = useQueryClient();
  const navigate = route.useNavigate();
  const { id } = route.useParams();
  const pool = useLoaded(poolQuery(id));
  const [base, setBase] = useState(pool);
  const facts = usePoolFacts();
  const consequences = useConsequences();
  const update = useAct((body: PoolPatch, key) => call(updatePlatformPool, { path: { id }, body }, { key }), {
    touches: [["platform", "pools"]],
    onDone: ({ name }) => {
      notify({ title: t("pools.saved", { name }) });
      void navigate({ to: "/admin/pools/$id", params: { id } });
    },
    onFailed: (error) => {
      if (error instanceof ApiError && error.is("changed-meanwhile"))
        void client.invalidateQueries({ queryKey: poolQuery(id).queryKey });
    },
  });
  const form = useForm({
    initial: draftOf(pool),
    check: (draft) => checkDraft(draft, t),
    send: (draft) => {
      const next = merged(draft, base, pool);
      form.reset(next);
      setBase(pool);
      update.run(patchOf(next, pool));
    },
    error: update.error,
  });
  const body = patchOf(form.values, base);
  const mine = differencesOf(facts(draftOf(base)), facts(form.values));
  const theirs = differencesOf(facts(draftOf(base)), facts(draftOf(pool)));
  const isConflict = update.error instanceof ApiError && update.error.is("changed-meanwhile");
  const nothing = Object.keys(body).length === 0 && t("pools.nothingChanged");
  return (
    <>
      <PageHead
        title={t("pools.editTitle", { name: pool.name })}
        up={{ label: pool.name, link: { to: "/admin/pools/$id", params: { id } } }}
      >
        {t("pools.editHint")}
      </PageHead>
      <FormFrame
        onSubmit={() => !nothing && form.submit()}
        side={
          <>
            {theirs.length > 0 && !update.busy && <ChangedMeanwhile differences={theirs} />}
            <Changes
              title={t("stock.whatItDoes")}
              empty={t("pools.nothingChanged")}
              changes={[
                ...mine.map((it) => ({ key: it.key, sign: "→" as const, text: <DifferenceText it={it} /> })),
                ...consequences(form.values, base),
              ]}
            />
            {update.error && !isConflict && !Object.values(form.errors).some(Boolean) && (
              <ErrorLine error={update.error} />
            )}
            <div className="flex flex-wrap justify-end gap-2">
              <CopyCurl command={asCurl(updatePlatformPool, { path: { id }, body })} />
              <ButtonLink to="/admin/pools/$id" params={{ id }}>
                {t("ui.cancel")}
              </ButtonLink>
              <Button kind="primary" type="submit" busy={update.busy} disabled={nothing}>
                {t("ui.save")}
              </Button>
            </div>
          </>
        }
      >
        <Section title={t("pools.fixedSection")} hint={t("pools.fixedHint")}>
          <PoolFacts it={pool} />
        </Section>
        <Section title={t("pools.applicationsSection")} hint={t("pools.applicationsHint")}>
          <ApplicationFields form={form} />
        </Section>
        <Section title={t("pools.workers")}>
          <WorkerFields form={form} />
        </Section>
        <Section title={t("pools.factors")} hint={t("pools.factorsHint")}>
          <FactorFields form={form} />
        </Section>
      </FormFrame>
    </>
  );
}
