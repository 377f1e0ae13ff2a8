import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { services } from "@/api/catalogue";
import { asCurl, call } from "@/api/client";
import { updateService } from "@/api/generated/operations";
import type { ServiceImage, ServiceImageChange } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { useAct, useLoaded } from "@/api/query";
import { service } from "@/api/stock";
import { ChangedMeanwhile, DifferenceText, useBase } from "@/domain/catalogue/changed";
import { useText } from "@/i18n";
import { Button, ButtonLink } from "@/ui/button";
import { Changes } from "@/ui/changes";
import { CopyCurl } from "@/ui/copy";
import { ErrorLine } from "@/ui/error";
import { PageHead } from "@/ui/page";
import { notify } from "@/ui/toast";
import { aboutBody, aboutOf } from "./about";
import { AboutFields } from "./about-fields";
import { differences } from "./differences";
import { ServiceMark } from "./service-mark";
import { ServiceMenu } from "./service-menu";
import { normal } from "./template";
import { TemplateSection } from "./template-section";
import { useServiceForm } from "./use-service-form";

const route = getRouteApi("/_app/admin/services/$id");

const bodyOf = (image: ServiceImage) => ({
  ...aboutBody({ ...aboutOf(image), isNew: false }),
  template: normal(image.template),
});

export function ServicePage() {
  const { t } = useText();
  const client = useQueryClient();
  const { id } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const image = useLoaded(service(id));
  const { base, isChanged, rebase } = useBase(image);
  const update = useAct(
    (body: ServiceImageChange, key) => call(updateService, { path: { id }, body }, { key }),
    {
      touches: [services.queryKey],
      onDone: (answer) => {
        rebase(answer);
        form.reset(answer);
        notify({ title: t("catalogue.saved", { name: `${answer.service} ${answer.version}` }) });
      },
      onFailed: (error) => {
        if (error instanceof ApiError && error.is("changed-meanwhile"))
          void client.invalidateQueries({ queryKey: services.queryKey });
      },
    },
  );
  const form = useServiceForm(image, update.error, false);
  const before = bodyOf(base);
  const now = { ...aboutBody(form.about), template: form.template ?? before.template };
  const mine = differences(before, now);
  // only what was changed is sent: what others change meanwhile stays theirs
  const body: ServiceImageChange = Object.fromEntries(
    Object.entries(now).filter(([name]) => mine.some((it) => it.key.split("/")[1] === name)),
  );
  const isConflict = update.error instanceof ApiError && update.error.is("changed-meanwhile");
  const nothing = mine.length === 0 && !form.isText && t("catalogue.nothingChanged");
  const name = `${image.service} ${image.version}`;
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (nothing || !form.isReady()) return;
        rebase({ ...base, updated_at: image.updated_at });
        update.run(body);
      }}
    >
      <PageHead
        title={name}
        up={{ label: t("catalogue.servicesTitle"), link: { to: "/admin/services" } }}
        mark={<ServiceMark image={image} />}
        actions={<ServiceMenu image={image} />}
      >
        {t("catalogue.serviceSentence")}
      </PageHead>
      <AboutFields form={form} />
      <TemplateSection
        form={form}
        view={search.view ?? "fields"}
        onView={(view) => void navigate({ search: { view }, replace: true })}
      />
      <div className="mt-6 space-y-3">
        {isChanged && !update.busy && <ChangedMeanwhile differences={differences(before, bodyOf(image))} />}
        <Changes
          title={t("stock.whatItDoes")}
          empty={t(form.isText ? "catalogue.textFirst" : "catalogue.nothingChanged")}
          changes={[
            ...mine.map((it) => ({ key: it.key, sign: "→" as const, text: <DifferenceText it={it} /> })),
            ...(body.template
              ? [{ key: "keep", sign: "=" as const, text: t("catalogue.instancesKeep") }]
              : []),
          ]}
        />
        {update.error && !isConflict && form.faults.length === 0 && <ErrorLine error={update.error} />}
        <div className="flex flex-wrap justify-end gap-2">
          <CopyCurl command={asCurl(updateService, { path: { id }, body })} />
          <ButtonLink to="/admin/services">{t("ui.cancel")}</ButtonLink>
          <Button kind="primary" type="submit" busy={update.busy} disabled={nothing}>
            {t("ui.save")}
          </Button>
        </div>
      </div>
    </form>
  );
}
