import { getRouteApi } from "@tanstack/react-router";
import { services } from "@/api/catalogue";
import { asCurl, call } from "@/api/client";
import { createService } from "@/api/generated/operations";
import type { NewServiceImage, ServiceImage } from "@/api/generated/types";
import { useAct, useLoaded } from "@/api/query";
import { useText } from "@/i18n";
import { Button, ButtonLink } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { ErrorLine } from "@/ui/error";
import { PageHead } from "@/ui/page";
import { notify } from "@/ui/toast";
import { aboutBody } from "./about";
import { AboutFields } from "./about-fields";
import { emptyTemplate, normal } from "./template";
import { TemplateSection } from "./template-section";
import { useServiceForm } from "./use-service-form";

const route = getRouteApi("/_app/admin/services/new");

/** Empty, or like another version: its template is where a new one begins. */
export function NewServicePage() {
  const { t } = useText();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const model = useLoaded(services).find((it) => it.id === search.like);
  const create = useAct((body: NewServiceImage, key) => call(createService, { body }, { key }), {
    touches: [services.queryKey],
    onDone: ({ id, service, version }) => {
      notify({ title: t("catalogue.serviceCreated", { service, version }) });
      void navigate({ to: "/admin/services/$id", params: { id } });
    },
  });
  const form = useServiceForm(model && asNew(model), create.error, true);
  const body: NewServiceImage = {
    service: form.about.service,
    version: form.about.version,
    ...aboutBody(form.about),
    icon_url: form.about.icon_url || null,
    template: form.template ?? normal(emptyTemplate),
    enabled: form.about.enabled,
    recommended: form.about.recommended,
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (form.isReady()) create.run(body);
      }}
    >
      <PageHead
        title={t("catalogue.newService")}
        up={{ label: t("catalogue.servicesTitle"), link: { to: "/admin/services" } }}
      >
        {model
          ? t("catalogue.newServiceLike", { service: model.service, version: model.version })
          : t("catalogue.newServiceHint")}
      </PageHead>
      <AboutFields form={form} />
      <TemplateSection
        form={form}
        view={search.view ?? "fields"}
        onView={(view) => void navigate({ search: (old) => ({ ...old, view }), replace: true })}
      />
      <div className="mt-6 space-y-3">
        {create.error && form.faults.length === 0 && <ErrorLine error={create.error} />}
        <div className="flex flex-wrap justify-end gap-2">
          <CopyCurl command={asCurl(createService, { body })} />
          <ButtonLink to="/admin/services">{t("ui.cancel")}</ButtonLink>
          <Button kind="primary" type="submit" busy={create.busy}>
            {t("catalogue.addVersion")}
          </Button>
        </div>
      </div>
    </form>
  );
}

const asNew = (model: ServiceImage): ServiceImage => ({
  ...model,
  version: "",
  recommended: false,
  enabled: true,
});
