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
import { PageHead, Section } from "@/ui/page";
import { notify } from "@/ui/toast";
import { checkDraft } from "./check";
import { useConsequences } from "./consequences";
import { draftOf, merged, patchOf } from "./draft";
import { usePoolFacts } from "./facts";
import { PoolFacts } from "./facts-row";
import { PoolForm } from "./pool-form";
import { pool as poolQuery } from "./queries";

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
  return (
    <>
      <PageHead
        title={t("pools.editTitle", { name: pool.name })}
        up={{ label: pool.name, link: { to: "/admin/pools/$id", params: { id } } }}
      >
        {t("pools.editHint")}
      </PageHead>
      <PoolForm
        form={form}
        notice={theirs.length > 0 && !update.busy && <ChangedMeanwhile differences={theirs} />}
        changes={[
          ...mine.map((it) => ({ key: it.key, sign: "→" as const, text: <DifferenceText it={it} /> })),
          ...consequences(form.values, base),
        ]}
        empty={t("pools.nothingChanged")}
        error={isConflict ? null : update.error}
        curl={asCurl(updatePlatformPool, { path: { id }, body })}
        verb={t("ui.save")}
        cancel={{ to: "/admin/pools/$id", params: { id } }}
        busy={update.busy}
        nothing={Object.keys(body).length === 0 && t("pools.nothingChanged")}
      >
        <Section title={t("pools.fixedSection")} hint={t("pools.fixedHint")}>
          <PoolFacts it={pool} />
        </Section>
      </PoolForm>
    </>
  );
}
