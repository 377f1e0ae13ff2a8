import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { stock } from "@/api/catalogue";
import { asCurl, call } from "@/api/client";
import { updateGpuSpec } from "@/api/generated/operations";
import type { GpuSpecPatch } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { useAct, useLoaded } from "@/api/query";
import { gpuSpec } from "@/api/stock";
import { ChangedMeanwhile, DifferenceText, differencesOf, useBase } from "@/domain/catalogue/changed";
import { totalsOf } from "@/domain/catalogue/stock";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button, ButtonLink } from "@/ui/button";
import { Changes } from "@/ui/changes";
import { CopyCurl } from "@/ui/copy";
import { ErrorLine } from "@/ui/error";
import { Fact, Facts } from "@/ui/facts";
import { PageHead, Section } from "@/ui/page";
import { notify } from "@/ui/toast";
import { checkDraft } from "./check";
import { bodyOf, draftOf, merged, patchOf } from "./draft";
import { useSpecFacts } from "./facts";
import { SpecFields } from "./form";

const route = getRouteApi("/_app/admin/gpu-specs/$id_/edit");

/** Facts that may change while there are units. */
const always = ["price", "hold", "state"];

export function EditSpecPage() {
  const { t } = useText();
  const client = useQueryClient();
  const navigate = route.useNavigate();
  const { id } = route.useParams();
  const spec = useLoaded(gpuSpec(id));
  const { base, isChanged, rebase } = useBase(spec);
  const facts = useSpecFacts();
  const total = totalsOf(useLoaded(stock).filter((row) => row.gpu_spec.id === id));
  const update = useAct((body: GpuSpecPatch, key) => call(updateGpuSpec, { path: { id }, body }, { key }), {
    touches: [["gpu-specs"], stock.queryKey],
    onDone: ({ name }) => {
      notify({ title: t("catalogue.saved", { name }) });
      void navigate({ to: "/admin/gpu-specs/$id", params: { id } });
    },
    onFailed: (error) => {
      if (error instanceof ApiError && error.is("changed-meanwhile"))
        void client.invalidateQueries({ queryKey: ["gpu-specs"] });
    },
  });
  const form = useForm({
    initial: draftOf(spec),
    check: (draft) => checkDraft(draft, t),
    send: (draft) => {
      const next = merged(draft, base, spec);
      form.reset(next);
      rebase(spec);
      update.run(patchOf(next, spec));
    },
    error: update.error,
  });
  const body = patchOf(form.values, base);
  const mine = differencesOf(facts(base), facts(bodyOf(form.values))).filter((it) => it.key !== "state");
  const isConflict = update.error instanceof ApiError && update.error.is("changed-meanwhile");
  const nothing = Object.keys(body).length === 0 && t("catalogue.nothingChanged");
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!nothing) form.submit();
      }}
    >
      <PageHead
        title={t("catalogue.editTitle", { name: spec.name })}
        up={{ label: spec.name, link: { to: "/admin/gpu-specs/$id", params: { id } } }}
      >
        {total.total > 0
          ? t("catalogue.lockedSentence", { count: total.total })
          : t("catalogue.unlockedSentence")}
      </PageHead>
      <SpecFields
        form={form}
        locked={
          total.total > 0 && (
            <Section title={t("catalogue.unitSection")} hint={t("catalogue.lockedHint")}>
              <Facts>
                {facts(spec)
                  .filter((it) => it.value && !always.includes(it.key))
                  .map((it) => (
                    <Fact key={it.key} label={it.label}>
                      {it.value}
                    </Fact>
                  ))}
              </Facts>
            </Section>
          )
        }
      />
      <div className="mt-6 space-y-3">
        {isChanged && !update.busy && (
          <ChangedMeanwhile differences={differencesOf(facts(base), facts(spec))} />
        )}
        <Changes
          title={t("stock.whatItDoes")}
          empty={t("catalogue.nothingChanged")}
          changes={[
            ...mine.map((it) => ({ key: it.key, sign: "→" as const, text: <DifferenceText it={it} /> })),
            ...(body.price_per_hour && total.used > 0
              ? [{ key: "keep", sign: "=" as const, text: t("stock.keeps", { count: total.used }) }]
              : []),
          ]}
        />
        {update.error && !isConflict && !Object.values(form.errors).some(Boolean) && (
          <ErrorLine error={update.error} />
        )}
        <div className="flex flex-wrap justify-end gap-2">
          <CopyCurl command={asCurl(updateGpuSpec, { path: { id }, body })} />
          <ButtonLink to="/admin/gpu-specs/$id" params={{ id }}>
            {t("ui.cancel")}
          </ButtonLink>
          <Button kind="primary" type="submit" busy={update.busy} disabled={nothing}>
            {t("ui.save")}
          </Button>
        </div>
      </div>
    </form>
  );
}
