import { getRouteApi } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { Offer, StorageOffer } from "@/api/generated/types";
import { gpuTitle } from "@/domain/instances/gpu";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { perMonth } from "@/lib/money";
import { TextField } from "@/ui/field";
import { Section } from "@/ui/page";
import { SelectField } from "@/ui/select";
import { cheapest, type Draft, type Estimate, estimateOf, numberOf, sortedByPrice } from "./estimate";

const route = getRouteApi("/_public/prices");

/** Debounce of the search field, in milliseconds. */
const TYPING = 300;

const asNumber = (text: string) => numberOf(text, 0, Number.MAX_SAFE_INTEGER, false) ?? undefined;

/** The draft of the address, with what a day's work is where it says nothing. */
function useDraft(offers: readonly Offer[], storages: readonly StorageOffer[]) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const known = (name: string | undefined, items: readonly { name: string }[]) =>
    items.some((it) => it.name === name) ? name : undefined;
  const given: Draft = {
    gpu: known(search.gpu, offers) ?? cheapest(offers)?.name ?? "",
    hours: String(search.hours ?? 8),
    days: String(search.days ?? 20),
    storage:
      search.storage === "none"
        ? ""
        : (known(search.storage, storages) ?? storages.find((it) => it.kind === "volume")?.name ?? ""),
    gib: String(search.gib ?? 100),
  };
  const [typed, setTyped] = useState<Partial<Draft>>({});
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const draft = { ...given, ...typed };
  const change = (field: keyof Draft, text: string) => {
    const next = { ...draft, [field]: text };
    setTyped({ ...typed, [field]: text });
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      void navigate({
        search: {
          gpu: next.gpu,
          hours: asNumber(next.hours),
          days: asNumber(next.days),
          storage: next.storage || "none",
          gib: asNumber(next.gib),
        },
        replace: true,
        resetScroll: false,
        hash: true,
      });
    }, TYPING);
  };
  // a link in the table has chosen another GPU
  const [shown, setShown] = useState(search.gpu);
  if (shown !== search.gpu) {
    setShown(search.gpu);
    setTyped(({ gpu: _, ...rest }) => rest);
  }
  return { draft, change };
}

/** Hours a day by days, and a storage, as a month's sum. */
export function Estimator({
  offers,
  storages,
}: {
  offers: readonly Offer[];
  storages: readonly StorageOffer[];
}) {
  const { t } = useText();
  const { money } = useFormat();
  const { draft, change } = useDraft(offers, storages);
  const { estimate, wrong } = estimateOf(draft, offers, storages);
  const storage = storages.find((it) => it.name === draft.storage);
  const offer = offers.find((it) => it.name === draft.gpu);
  const text = (field: "hours" | "days" | "gib") => ({
    name: field,
    value: draft[field],
    inputMode: "decimal" as const,
    autoComplete: "off",
    onChange: (event: { target: { value: string } }) => change(field, event.target.value),
  });
  return (
    <div id="estimate" className="mt-6 scroll-mt-6">
      <Section title={t("visitor.estimator")} hint={t("visitor.estimatorHint")}>
        <div className="grid rounded-lg border border-line bg-sheet lg:grid-cols-[minmax(0,1fr)_22rem]">
          <div className="grid content-start gap-4 p-4 sm:grid-cols-2">
            <SelectField
              label={t("visitor.gpu")}
              className="sm:col-span-2"
              value={draft.gpu}
              onChange={(name) => change("gpu", name)}
              choices={sortedByPrice(offers).map((it) => ({
                value: it.name,
                label: `${gpuTitle(it)} · ${t("ui.perHour", { price: money(it.price_per_hour, it.currency) })}`,
                hint: it.name,
              }))}
            />
            <TextField
              {...text("hours")}
              label={t("visitor.hours")}
              error={wrong.hours && t("visitor.hoursWrong")}
            />
            <TextField
              {...text("days")}
              label={t("visitor.days")}
              error={wrong.days && t("visitor.daysWrong")}
            />
            <SelectField
              label={t("visitor.storage")}
              value={draft.storage}
              onChange={(name) => change("storage", name)}
              choices={[
                ...storages.map((it) => ({
                  value: it.name,
                  label: t("visitor.storageChoice", {
                    name: it.name,
                    price: money(it.price_per_gib_month, it.currency),
                  }),
                })),
                { value: "", label: t("visitor.noStorage") },
              ]}
            />
            {storage && (
              <TextField
                {...text("gib")}
                label={t("visitor.size")}
                after={<span className="text-ink-3">GiB</span>}
                error={
                  wrong.gib && t("visitor.gibWrong", { min: storage.min_size_gib, max: storage.max_size_gib })
                }
              />
            )}
          </div>
          <Sum estimate={estimate} offer={offer} />
        </div>
      </Section>
    </div>
  );
}

function Sum({ estimate, offer }: { estimate: Estimate | null; offer: Offer | undefined }) {
  const { t, language } = useText();
  const { total, money } = useFormat();
  const unknown = <span title={t("visitor.wrong")}>–</span>;
  const hours = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
  return (
    <div className="border-line p-4 max-lg:border-t lg:border-l">
      <h3 className="font-medium text-sm">{t("visitor.aMonth")}</h3>
      <p className="num mt-1 font-medium text-xl" role="status">
        {estimate ? total(estimate.month) : unknown}
      </p>
      <dl className="num mt-4 space-y-1.5 text-sm">
        <Line
          name={estimate ? t("visitor.gpuHours", { hours: hours.format(estimate.seconds / 3600) }) : "GPU"}
        >
          {estimate ? total(estimate.gpu) : unknown}
        </Line>
        <Line name={t("visitor.storage")}>
          {estimate
            ? estimate.storage.size > 0
              ? total(estimate.storage)
              : t("visitor.nothingMore")
            : unknown}
        </Line>
        {offer && (
          <Line name={t("visitor.through")}>{money(perMonth(offer.price_per_hour), offer.currency)}</Line>
        )}
      </dl>
      <p className="mt-4 text-ink-3 text-xs">{t("visitor.sumHint")}</p>
    </div>
  );
}

function Line({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex justify-between gap-3">
      <dt className="text-ink-2">{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
