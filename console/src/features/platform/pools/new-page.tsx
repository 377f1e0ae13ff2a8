import { getRouteApi } from "@tanstack/react-router";
import { asCurl, call } from "@/api/client";
import { createPlatformPool } from "@/api/generated/operations";
import { useAct, useLoaded } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { PageHead, Section } from "@/ui/page";
import { notify } from "@/ui/toast";
import { NameFields } from "./about-fields";
import { checkDraft } from "./check";
import { bodyOf, draftOf, emptyDraft } from "./draft";
import { useEffects } from "./effects";
import { PoolForm } from "./pool-form";
import { everyPool } from "./queries";
import { errorIn } from "./refused";
import { SpecList } from "./spec-list";

const route = getRouteApi("/_app/admin/pools/new");

/** Empty, or like another one. */
export function NewPoolPage() {
  const { t } = useText();
  const { like } = route.useSearch();
  const navigate = route.useNavigate();
  const model = useLoaded(everyPool).find((it) => it.name === like);
  const create = useAct(
    (body: ReturnType<typeof bodyOf>, key) => call(createPlatformPool, { body }, { key }),
    {
      touches: [["platform", "pools"]],
      onDone: ({ id, name, workers }) => {
        notify({
          title: t("pools.created", { name }),
          detail: workers ? t("pools.createdHint") : t("pools.createdEmpty"),
        });
        void navigate({ to: "/admin/pools/$id", params: { id } });
      },
    },
  );
  const form = useForm({
    initial: model ? { ...draftOf(model), name: "" } : emptyDraft,
    check: (draft) => checkDraft(draft, t),
    send: (draft) => create.run(bodyOf(draft)),
    error: create.error,
  });
  const { values, errors } = form;
  const effects = useEffects()(values);
  return (
    <>
      <PageHead title={t("pools.new")} up={{ label: t("pools.title"), link: { to: "/admin/pools" } }}>
        {model ? t("pools.newLike", { name: model.name }) : t("pools.newHint")}
      </PageHead>
      <PoolForm
        form={form}
        changes={effects}
        empty={t("pools.nothingYet")}
        error={create.error}
        curl={asCurl(createPlatformPool, { body: bodyOf(values) })}
        verb={t("pools.create")}
        cancel={{ to: "/admin/pools" }}
        busy={create.busy}
      >
        <Section title={t("pools.nameSection")}>
          <NameFields form={form} />
        </Section>
        <Section title={t("pools.specs")} hint={t("pools.specsHint")}>
          <SpecList
            value={values.gpu_specs}
            onChange={(next) => form.set("gpu_specs", next)}
            error={errorIn(errors, "gpu_specs")}
          />
        </Section>
      </PoolForm>
    </>
  );
}
