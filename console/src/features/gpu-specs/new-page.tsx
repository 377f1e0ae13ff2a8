import { getRouteApi } from "@tanstack/react-router";
import { asCurl, call } from "@/api/client";
import { createGpuSpec } from "@/api/generated/operations";
import type { NewGpuSpec } from "@/api/generated/types";
import { useAct, useLoaded } from "@/api/query";
import { everyGpuSpec } from "@/api/stock";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button, ButtonLink } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { ErrorLine } from "@/ui/error";
import { PageHead } from "@/ui/page";
import { notify } from "@/ui/toast";
import { checkDraft } from "./check";
import { bodyOf, draftOf, emptyDraft } from "./draft";
import { SpecFields } from "./form";

const route = getRouteApi("/_app/admin/gpu-specs/new");

/** Empty, or like another one. */
export function NewSpecPage() {
  const { t } = useText();
  const { like } = route.useSearch();
  const navigate = route.useNavigate();
  const model = useLoaded(everyGpuSpec).find((it) => it.name === like);
  const create = useAct((body: NewGpuSpec, key) => call(createGpuSpec, { body }, { key }), {
    touches: [["gpu-specs"]],
    onDone: ({ id, name }) => {
      notify({ title: t("catalogue.specCreated", { name }), detail: t("catalogue.specCreatedHint") });
      void navigate({ to: "/admin/gpu-specs/$id", params: { id } });
    },
  });
  const form = useForm({
    initial: model ? { ...draftOf(model), name: "" } : emptyDraft,
    check: (draft) => checkDraft(draft, t),
    send: (draft) => create.run(bodyOf(draft)),
    error: create.error,
  });
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        form.submit();
      }}
    >
      <PageHead
        title={t("catalogue.newSpec")}
        up={{ label: t("catalogue.specsTitle"), link: { to: "/admin/gpu-specs" } }}
      >
        {model ? t("catalogue.newSpecLike", { name: model.name }) : t("catalogue.newSpecHint")}
      </PageHead>
      <SpecFields form={form} locked={null} />
      <div className="mt-6 space-y-3">
        {create.error && !Object.values(form.errors).some(Boolean) && <ErrorLine error={create.error} />}
        <div className="flex flex-wrap justify-end gap-2">
          <CopyCurl command={asCurl(createGpuSpec, { body: bodyOf(form.values) })} />
          <ButtonLink to="/admin/gpu-specs">{t("ui.cancel")}</ButtonLink>
          <Button kind="primary" type="submit" busy={create.busy}>
            {t("catalogue.createSpec")}
          </Button>
        </div>
      </div>
    </form>
  );
}
