import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { RotateCcw } from "lucide-react";
import { type FormEvent, lazy, Suspense, useState } from "react";
import {
  budget as budgetQuery,
  datacenters as datacentersQuery,
  gpuSpecs,
  quota as quotaQuery,
  quote as quoteQuery,
  services as servicesQuery,
  stock as stockQuery,
  storageSpecs as storageSpecsQuery,
  storages as storagesQuery,
} from "@/api/catalogue";
import type { Budget, Datacenter, GpuSpec, Instance, Quota, StockRow } from "@/api/generated/types";
import { instances } from "@/api/instances/queries";
import { useLoaded, useLoadedPages } from "@/api/query";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { minus } from "@/lib/money";
import { Button, ButtonLink } from "@/ui/button";
import { PageHead, Section } from "@/ui/page";
import { GpuCards } from "./gpu-cards";
import {
  type Draft,
  draftLike,
  emptyDraft,
  type Known,
  lastOf,
  orderOf,
  quotedPart,
  volumesOf,
} from "./order";
import { PlaceFields } from "./place";
import { bestPlace, firstChoice, offersOf, roomInQuota } from "./rules";
import { ServiceFields } from "./service";
import { StorageFields } from "./storage";
import { StartBar, type Sum, Summary } from "./summary";
import { useStart } from "./use-start";

const GuardFields = lazy(() => import("./guards"));
const EnvironmentFields = lazy(() => import("./environment"));

const route = getRouteApi("/_app/instances/new");

/** What is for sale, and what the studio may have of it. */
interface Market {
  specs: readonly GpuSpec[];
  stock: readonly StockRow[];
  datacenters: readonly Datacenter[];
  quota: Quota;
  budget: Budget | null;
}

const offersIn = ({ specs, stock, datacenters, quota, budget }: Market, place: string | null) =>
  offersOf(specs, stock, datacenters, { quota, budget, place });

export function StartPage() {
  const { t } = useText();
  const search = route.useSearch();
  const known: Known = {
    services: useLoaded(servicesQuery),
    storages: useLoaded(storagesQuery),
    storageSpecs: useLoaded(storageSpecsQuery),
    instances: useLoadedPages(instances()).data.pages.flatMap((page) => page.items),
  };
  const quota = useLoaded(quotaQuery);
  const specs = useLoaded(gpuSpecs);
  const { data: stock = [] } = useQuery(stockQuery);
  const datacenters = useLoaded(datacentersQuery);
  const budget = useLoaded(budgetQuery);
  const market: Market = { specs, stock, datacenters, quota, budget };
  const last = lastOf(known.instances);
  const like = known.instances.find((it) => it.id === search.like);
  // another press of "as last time" begins anew
  const [begun, setBegun] = useState<{ n: number; initial: Draft }>(() => {
    if (like) return { n: 0, initial: draftLike(like, known) };
    const draft = emptyDraft(known, { service: search.service, storage: search.storage });
    const volume = known.storages.find((it) => draft.storage === "existing" && it.id === draft.storage_id);
    const offers = offersIn(market, volume?.datacenter ?? null);
    return {
      n: 0,
      initial: { ...draft, gpu_spec: search.gpu ?? firstChoice(offers, last?.gpu_spec.name) },
    };
  });
  const again = (it: Instance) => setBegun((old) => ({ n: old.n + 1, initial: draftLike(it, known) }));
  return (
    <>
      <PageHead
        title={t("start.title")}
        up={{ label: t("instances.title"), link: { to: "/instances" } }}
        actions={
          <>
            <ButtonLink kind="quiet" to="/instances">
              {t("ui.cancel")}
            </ButtonLink>
            {last && (
              <Button onClick={() => again(last)} className="max-w-full">
                <RotateCcw className="size-4 shrink-0" aria-hidden="true" />
                <span className="truncate">{t("start.asLast", { name: last.name })}</span>
              </Button>
            )}
          </>
        }
      >
        <QuotaSentence quota={quota} />
      </PageHead>
      <StartForm key={begun.n} initial={begun.initial} known={known} market={market} />
    </>
  );
}

function QuotaSentence({ quota }: { quota: Quota }) {
  const { t } = useText();
  const { money, list, sentences } = useFormat();
  const gpus = Object.values(quota.used.gpus).reduce((sum, count) => sum + count, 0);
  const room = roomInQuota(quota);
  const rate = list(
    Object.entries(quota.used.cost_per_hour).map(([currency, price]) => money(price, currency)),
  );
  return (
    <>
      {sentences([
        gpus > 0 ? t("start.inUse", { count: gpus, rate }) : t("start.nothingInUse"),
        room !== null && (room > 0 ? t("start.quotaRoom", { count: room }) : t("start.quotaFull")),
      ])}
    </>
  );
}

function StartForm({ initial, known, market }: { initial: Draft; known: Known; market: Market }) {
  const { t } = useText();
  const { quota, budget, datacenters } = market;
  const specOf = (draft: Draft) =>
    known.storageSpecs.find((it) => it.name === draft["new_storage.storage_spec"]);
  const see = (draft: Draft) => {
    const storage =
      draft.storage === "existing"
        ? volumesOf(known.storages).find((it) => it.id === draft.storage_id)
        : undefined;
    const bound = storage?.datacenter ?? (draft.datacenter || null);
    const offers = offersIn(market, bound);
    const offer = offers.find((it) => it.spec.name === draft.gpu_spec);
    const place = bound ?? bestPlace(offer);
    const body = orderOf(draft, place, offer?.state === "full");
    return { storage, bound, offers, offer, place, body };
  };
  const start = useStart(initial, specOf, (draft) => see(draft).body);
  const { form } = start;
  const { storage, bound, offers, offer, place, body } = see(form.values);
  const { data: quote } = useQuery({
    ...quoteQuery(quotedPart(body)),
    enabled: offer !== undefined && offer.state !== "impossible",
    placeholderData: keepPreviousData,
  });
  const role = useWhyNot("instances.write");
  const image = known.services.find(
    (it) => it.service === form.values.service && it.version === form.values.version,
  );
  const noMount = image !== undefined && !image.template.storage_mount_path;
  const isQuotaFull = quota.limits.instances != null && quota.used.instances >= quota.limits.instances;
  const choose = (name: string, datacenter?: string) => {
    form.set("gpu_spec", name);
    if (datacenter && form.values.storage !== "existing") form.set("datacenter", datacenter);
  };
  const isQuoteOfOffer = quote?.gpu_spec.name === offer?.spec.name;
  const sum: Sum = {
    draft: form.values,
    offer,
    quote: isQuoteOfOffer ? quote : undefined,
    place,
    storage,
    storageSpec: specOf(form.values),
    body,
    budget,
    refusal: start.refusal,
    reason:
      role ||
      (isQuotaFull && t("start.quotaFull")) ||
      (offer?.state === "impossible" && t("start.impossible")),
    busy: start.busy,
    onStart: form.submit,
    onInstead: choose,
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!sum.reason && !sum.busy) form.submit();
  };
  return (
    <form
      noValidate
      onSubmit={submit}
      className="grid grid-cols-[minmax(0,1fr)] items-start gap-8 max-lg:pb-20 lg:grid-cols-[minmax(0,1fr)_19rem]"
    >
      <div className="min-w-0">
        <Section title={t("start.service")}>
          <ServiceFields form={form} services={known.services} />
        </Section>
        <Section title={t("start.gpu")} hint={t("start.gpuHint")}>
          <GpuCards
            offers={offers}
            value={form.values.gpu_spec}
            place={bound}
            error={form.error("gpu_spec")}
            onChange={choose}
          />
        </Section>
        <Section title={t("start.storage")} hint={t("start.storageHint")}>
          <StorageFields form={form} storages={known.storages} specs={known.storageSpecs} noMount={noMount} />
        </Section>
        <Section title={t("start.place")}>
          <PlaceFields
            form={form}
            datacenters={datacenters}
            offer={offer}
            auto={bestPlace(offer)}
            storage={storage}
            storages={known.storages}
          />
        </Section>
        <Section title={t("start.guards")} hint={t("start.guardsHint")}>
          <Suspense fallback={<div className="h-40" />}>
            <GuardFields form={form} budget={<BudgetText budget={budget} />} />
          </Suspense>
        </Section>
        <Section title={t("start.more")}>
          <Suspense fallback={<div className="h-24" />}>
            <EnvironmentFields form={form} />
          </Suspense>
        </Section>
      </div>
      <Summary {...sum} />
      <StartBar {...sum} />
    </form>
  );
}

function BudgetText({ budget }: { budget: Budget | null }) {
  const { t } = useText();
  const { money } = useFormat();
  if (!budget) return t("start.noBudget");
  const { amount, currency } = budget.terms;
  return t("start.budget", {
    left: money(minus(amount, budget.spent), currency),
    amount: money(amount, currency),
  });
}
