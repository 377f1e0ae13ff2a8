import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import {
  datacenters as datacentersQuery,
  storageSpecs as specsQuery,
  stock as stockQuery,
  storages as storagesQuery,
} from "@/api/catalogue";
import { useLoaded } from "@/api/query";
import { storageQuota } from "@/api/storages/queries";
import { useWhyNot } from "@/app/roles";
import { overCount, roomOf } from "@/domain/storages/quota";
import { isFixed, wholeGib } from "@/domain/storages/size";
import { useText } from "@/i18n";
import { ButtonLink } from "@/ui/button";
import { TextField } from "@/ui/field";
import { PageHead, Section } from "@/ui/page";
import { emptyDraft, startSize } from "./draft";
import { PlaceField } from "./place";
import { SpecCards } from "./spec-cards";
import { CreateBar, type Sum, Summary } from "./summary";
import { useCreate } from "./use-create";

const route = getRouteApi("/_app/storages/new");

export function NewStoragePage() {
  const { t } = useText();
  const search = route.useSearch();
  const specs = useLoaded(specsQuery);
  const datacenters = useLoaded(datacentersQuery);
  const storages = useLoaded(storagesQuery);
  const quota = useLoaded(storageQuota);
  const { data: stock = [] } = useQuery(stockQuery);
  const [initial] = useState(() => emptyDraft({ specs, datacenters, storages }, search.spec));
  const role = useWhyNot("storages.write");
  const specOf = ({ storage_spec }: { storage_spec: string }) => specs.find((it) => it.name === storage_spec);
  const { form, body, busy, refusal } = useCreate(initial, specOf, quota);
  const spec = specOf(form.values);
  const reason = role || (specs.length === 0 && t("storages.noSpecs")) || (overCount(quota, t) ?? false);
  const sum: Sum = {
    spec,
    size: spec && isFixed(spec) ? spec.min_size_gib : wholeGib(form.values.size_gib),
    body,
    quota,
    refusal,
    hasErrors: Object.values(form.errors).some(Boolean),
    reason,
    busy,
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!reason && !busy) form.submit();
  };
  return (
    <>
      <PageHead
        title={t("storages.newTitle")}
        up={{ label: t("storages.title"), link: { to: "/storages" } }}
        actions={
          <ButtonLink kind="quiet" to="/storages">
            {t("ui.cancel")}
          </ButtonLink>
        }
      >
        {overCount(quota, t) ?? t("storages.quotaLeft", roomOf(quota))}
      </PageHead>
      <form
        noValidate
        onSubmit={submit}
        className="grid grid-cols-[minmax(0,1fr)] items-start gap-8 max-lg:pb-20 lg:grid-cols-[minmax(0,1fr)_19rem]"
      >
        <div className="min-w-0">
          <Section title={t("storages.kind")} hint={t("storages.kindHint")}>
            <SpecCards
              specs={specs}
              value={form.values.storage_spec}
              error={form.errors.storage_spec}
              onChange={(next) => {
                form.set("storage_spec", next.name);
                form.set("size_gib", startSize(next, wholeGib(form.values.size_gib) || undefined));
              }}
            />
          </Section>
          <Section title={t("storages.nameAndSize")}>
            <div className="grid items-start gap-x-4 gap-y-3 sm:grid-cols-[minmax(0,1fr)_11rem]">
              <TextField
                {...form.text("name")}
                label={t("storages.name")}
                hint={t("storages.nameHint")}
                autoComplete="off"
                maxLength={120}
              />
              <TextField
                {...form.text("size_gib")}
                label={t("storages.size")}
                hint={spec && isFixed(spec) ? t("storages.sizeFixed") : t("storages.growLater")}
                readOnly={spec && isFixed(spec)}
                inputMode="numeric"
                autoComplete="off"
                after={<span className="text-ink-3 text-xs">GiB</span>}
              />
            </div>
          </Section>
          <Section title={t("storages.where")} hint={spec?.kind === "volume" && t("storages.placeHint")}>
            {spec?.kind === "bucket" ? (
              <p className="text-ink-2 text-sm">{t("storages.bucketPlace")}</p>
            ) : (
              <div className="sm:max-w-88">
                <PlaceField
                  datacenters={datacenters}
                  stock={stock}
                  value={form.values.datacenter}
                  error={form.errors.datacenter}
                  onChange={(name) => form.set("datacenter", name)}
                />
              </div>
            )}
          </Section>
        </div>
        <Summary {...sum} />
        <CreateBar {...sum} />
      </form>
    </>
  );
}
