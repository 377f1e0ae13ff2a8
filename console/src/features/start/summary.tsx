import { clsx } from "clsx";
import { asCurl } from "@/api/client";
import { createInstance } from "@/api/generated/operations";
import type { Budget, NewInstance, Quote, Storage, StorageSpec } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { minus, monthlyOf, perDay, type Totals } from "@/lib/money";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy";
import { Ring } from "@/ui/state";
import { SumFact, SumLine } from "@/ui/sum";
import { type Draft, withoutSecrets } from "./order";
import { Refused } from "./refused";
import { gpuTitle, type Offer } from "./rules";

export interface Sum {
  draft: Draft;
  offer: Offer | undefined;
  quote: Quote | undefined;
  /** Where it goes, as far as that is known. */
  place: string | null;
  storage: Storage | undefined;
  storageSpec: StorageSpec | undefined;
  body: NewInstance;
  budget: Budget | null;
  refusal: Error | null;
  /** Why it cannot be pressed. */
  reason: string | false;
  busy: boolean;
  onStart: () => void;
  onInstead: (spec: string, datacenter: string) => void;
}

const storagePerMonth = ({ draft, storageSpec }: Sum): Totals | null => {
  const size = Number(draft["new_storage.size_gib"]);
  if (draft.storage !== "new" || !storageSpec || !(size > 0)) return null;
  return monthlyOf([{ ...storageSpec, size_gib: Math.floor(size) }]);
};

export function Summary(sum: Sum) {
  const { t } = useText();
  const { money, total } = useFormat();
  const { draft, offer, place, storage, body, budget } = sum;
  const spec = offer?.spec;
  const monthly = storagePerMonth(sum);
  return (
    <section
      aria-labelledby="summary"
      className="rounded-lg border border-line bg-sheet px-4 py-4 lg:sticky lg:top-6"
    >
      <h2 id="summary" className="font-medium text-lg">
        {t("start.summary")}
      </h2>
      <dl className="mt-3 grid grid-cols-[5.5rem_minmax(0,1fr)] gap-y-3 text-sm">
        <SumFact name={t("start.service")}>
          {draft.service} {draft.version}
        </SumFact>
        <SumFact
          name={t("start.gpu")}
          more={spec && <span className="font-mono">{[spec.name, place].filter(Boolean).join(" · ")}</span>}
        >
          {spec ? gpuTitle(spec) : <span className="text-ink-3">{t("start.gpuMissing")}</span>}
        </SumFact>
        <SumFact name={t("start.storage")} more={storageNote(sum, t)}>
          {draft.storage === "none"
            ? t("start.noStorage")
            : draft.storage === "new"
              ? t("start.storageNew", { name: draft["new_storage.name"] || "…" })
              : (storage?.name ?? "–")}
        </SumFact>
        <SumFact name={t("start.guards")}>
          {draft.idle
            ? t("start.idleSummary", { minutes: draft["idle_stop.after_seconds"] || "…" })
            : t("start.noGuard")}
        </SumFact>
      </dl>
      {spec && (
        <dl className="mt-4 space-y-1.5 border-line border-t pt-3 text-sm">
          <SumLine name={<span className="font-medium">{t("start.hourly")}</span>}>
            <span className="font-medium text-lg">{money(spec.price_per_hour, spec.currency)}</span>
          </SumLine>
          <SumLine name={t("start.daily")}>{money(perDay(spec.price_per_hour), spec.currency)}</SumLine>
          {monthly && <SumLine name={t("start.monthly")}>{total(monthly)}</SumLine>}
          {budget && (
            <SumLine name={t("start.budgetLeft")}>
              {money(minus(budget.terms.amount, budget.spent), budget.terms.currency)}
            </SumLine>
          )}
        </dl>
      )}
      <div className="mt-3 border-line border-t pt-3">
        <Room {...sum} />
        <Refused error={sum.refusal} onInstead={sum.onInstead} />
        <div className="mt-3 grid gap-2">
          <StartButton {...sum} className="max-lg:hidden" />
          <CopyButton
            label={t("ui.copyAsCurl")}
            text={asCurl(createInstance, { body: withoutSecrets(body) })}
          />
        </div>
        {(body.secrets?.length ?? 0) > 0 && (
          <p className="mt-2 text-center text-ink-3 text-xs">{t("start.curlSecrets")}</p>
        )}
        {monthly && (
          <p className="mt-2 text-center text-ink-3 text-xs">
            {t("start.afterStop", { price: total(monthly) })}
          </p>
        )}
      </div>
    </section>
  );
}

function storageNote({ draft, storage }: Sum, t: ReturnType<typeof useText>["t"]): string | null {
  if (draft.storage === "new")
    return `${t("start.gib", { size: Number(draft["new_storage.size_gib"]) || 0 })} · ${draft["new_storage.storage_spec"]}`;
  if (draft.storage === "existing" && storage)
    return [t("start.gib", { size: storage.size_gib }), storage.datacenter].filter(Boolean).join(" · ");
  return null;
}

/** Whether it starts now, as a sentence. */
function useRoomText({ offer, quote, place }: Sum): string | null {
  const { t, language } = useText();
  const now = useNow();
  if (!offer) return null;
  if (offer.state === "impossible") return t("start.impossible");
  if (quote && !quote.starts_now && quote.reason !== "stock_exhausted")
    return language === "en" && quote.message
      ? quote.message
      : quote.reason
        ? t(`reasons.${quote.reason}`)
        : t("start.impossible");
  const isFull = quote ? !quote.starts_now : offer.state === "full";
  if (!isFull) return place ? t("start.startsNowIn", { place }) : t("start.startsNow");
  if (!quote) return t("start.noRoom");
  const waiting = t("start.waiting", { count: quote.waiting });
  if (!quote.estimate) return t("start.noRoomWaiting", { waiting });
  const minutes = Math.max(1, Math.round((Date.parse(quote.estimate.starts_at) - now) / 60_000));
  return t("start.noRoomSoon", { waiting, minutes });
}

/** Whether one has to wait for a place. */
const isFull = ({ offer, quote }: Pick<Sum, "offer" | "quote">) =>
  offer?.state === "full" || (quote?.reason === "stock_exhausted" && offer?.state === "now");

function Room(sum: Sum) {
  const text = useRoomText(sum);
  if (!text) return null;
  const isNow = sum.offer?.state === "now" && (sum.quote?.starts_now ?? true);
  return (
    <p
      role="status"
      className={clsx("flex items-start gap-2 text-sm", isNow ? "text-viridian" : "text-ochre")}
    >
      <Ring mark={isNow ? "runs" : "moves"} className="mt-1.25" />
      {text}
    </p>
  );
}

function StartButton(sum: Sum & { className?: string }) {
  const { t } = useText();
  const { money } = useFormat();
  const spec = sum.offer?.spec;
  const price = spec && t("ui.perHour", { price: money(spec.price_per_hour, spec.currency) });
  const verb = isFull(sum) ? t("start.wait") : t("start.start");
  return (
    <Button kind="primary" type="submit" busy={sum.busy} disabled={sum.reason} className={sum.className}>
      <span className="num">{price ? `${verb} · ${price}` : verb}</span>
    </Button>
  );
}

/** On narrow screens: the price and the one filled button, always in reach. */
export function StartBar(sum: Sum) {
  const { t } = useText();
  const { money, total } = useFormat();
  const room = useRoomText(sum);
  const spec = sum.offer?.spec;
  const monthly = storagePerMonth(sum);
  return (
    <div className="fixed inset-x-0 bottom-0 z-10 flex items-center justify-between gap-3 border-line border-t bg-paper px-5 py-2.5 md:left-54 md:px-8 lg:hidden">
      <p className="num min-w-0 text-xs">
        <span className="line-clamp-2">{room ?? t("start.gpuMissing")}</span>
        {spec && (
          <span className="block truncate text-ink-3">
            {[
              t("start.aDay", { price: money(perDay(spec.price_per_hour), spec.currency) }),
              monthly && t("start.perMonth", { price: total(monthly) }),
            ]
              .filter(Boolean)
              .join(", ")}
          </span>
        )}
      </p>
      <StartButton {...sum} />
    </div>
  );
}
