import { clsx } from "clsx";
import { useId } from "react";
import { RoomMark } from "@/domain/room-mark";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { perDay } from "@/lib/money";
import { gpuTitle, type Instead, insteadOf, type Offer, type Why } from "./rules";

interface Props {
  offers: readonly Offer[];
  value: string;
  place: string | null;
  error: string | undefined;
  onChange: (name: string, datacenter?: string) => void;
}

export function GpuCards({ offers, value, place, error, onChange }: Props) {
  const { t } = useText();
  const id = useId();
  return (
    <div>
      <div
        role="radiogroup"
        aria-label={t("start.gpu")}
        aria-describedby={error ? `${id}-error` : undefined}
        className="grid gap-3 sm:grid-cols-2"
      >
        {offers.map((offer) => (
          <GpuCard
            key={offer.spec.id}
            offer={offer}
            chosen={offer.spec.name === value}
            place={place}
            instead={offer.state === "full" ? insteadOf(offer, offers, place) : []}
            onChange={onChange}
          />
        ))}
      </div>
      {error && (
        <p id={`${id}-error`} className="mt-1 text-vermilion text-xs">
          {error}
        </p>
      )}
    </div>
  );
}

function GpuCard({
  offer,
  chosen,
  place,
  instead,
  onChange,
}: {
  offer: Offer;
  chosen: boolean;
  place: string | null;
  instead: readonly Instead[];
  onChange: Props["onChange"];
}) {
  const { t } = useText();
  const { money } = useFormat();
  const id = useId();
  const { spec, state, why } = offer;
  const isImpossible = state === "impossible";
  const gib = (mib: number) => Math.round(mib / 1024);
  const facts: [string, string][] = [
    [t("start.videoMemory"), t("start.gb", { size: gib(spec.video_memory_mib) })],
    [t("start.cpu"), t("start.cores", { count: spec.cpu_millis / 1000 })],
    [t("start.memory"), t("start.gb", { size: gib(spec.memory_mib) })],
  ];
  return (
    <div
      className={clsx(
        "flex flex-col rounded-lg border bg-sheet",
        chosen ? "border-ultra outline outline-ultra" : "border-line",
        isImpossible ? "border-dashed bg-paper text-ink-3" : "has-[input:hover]:border-line-strong",
      )}
    >
      <label className={clsx("block px-4 pt-3 pb-3", isImpossible ? "cursor-not-allowed" : "cursor-pointer")}>
        <span className="flex items-start gap-3">
          <input
            type="radio"
            name="gpu_spec"
            value={spec.name}
            checked={chosen}
            aria-disabled={isImpossible || undefined}
            aria-describedby={why ? id : undefined}
            onChange={() => {
              if (!isImpossible) onChange(spec.name);
            }}
            className="mt-1 size-4 shrink-0"
          />
          <span className="min-w-0 flex-1">
            <span className="flex flex-wrap items-baseline justify-between gap-x-2">
              <span className="font-medium">{gpuTitle(spec)}</span>
              <span className="num font-medium">
                {t("ui.perHour", { price: money(spec.price_per_hour, spec.currency) })}
              </span>
            </span>
            <span className="flex flex-wrap items-baseline justify-between gap-x-2 text-ink-3 text-xs">
              <span className="truncate font-mono">{spec.name}</span>
              <span className="num">
                {t("start.aDay", { price: money(perDay(spec.price_per_hour), spec.currency) })}
              </span>
            </span>
          </span>
        </span>
        <span className="mt-2.5 grid grid-cols-3 gap-x-2 border-line border-t pt-2.5">
          {facts.map(([name, fact]) => (
            <span key={name}>
              <span className="block text-2xs text-ink-3">{name}</span>
              <span className="num block text-sm">{fact}</span>
            </span>
          ))}
        </span>
        <span className="mt-2 grid grid-cols-3 gap-x-2 gap-y-1.5">
          {offer.rooms.map((room) => (
            <span key={room.datacenter} className="min-w-0">
              <span className="block truncate text-2xs text-ink-3">{room.datacenter}</span>
              <RoomMark level={room.level} quiet={isImpossible} />
            </span>
          ))}
        </span>
      </label>
      {why && (
        <p id={id} className="mx-4 border-line border-t py-2.5 text-ink-2 text-xs">
          <WhyText why={why} />
        </p>
      )}
      {state === "full" && (
        <div className="mx-4 border-line border-t py-2.5 text-xs">
          <p className="font-medium text-ochre">
            {place ? t("start.noRoomIn", { place }) : t("start.noRoom")}
          </p>
          {instead.map((other) => (
            <p key={other.spec.id} className="mt-1 flex items-center gap-2">
              <span className="text-ink-3">{t("start.hasRoom")}</span>
              <button
                type="button"
                onClick={() => onChange(other.spec.name, other.datacenter)}
                className="min-h-6 cursor-pointer truncate text-ultra hover:underline"
              >
                {t("start.insteadTitle", {
                  gpu: gpuTitle(other.spec),
                  size: gib(other.spec.video_memory_mib),
                })}
              </button>
              <span className="ml-auto text-ink-3">{other.datacenter}</span>
              <span className="num">
                {t("ui.perHour", { price: money(other.spec.price_per_hour, other.spec.currency) })}
              </span>
            </p>
          ))}
        </div>
      )}
    </div>
  );
}

function WhyText({ why }: { why: Why }) {
  const { t } = useText();
  const { money, time } = useFormat();
  switch (why.code) {
    case "quota":
      if (why.limit === 0) return t("start.whyNone");
      return why.of === "model"
        ? t("start.whyModel", { limit: why.limit, used: why.used })
        : t("start.whyGpus", { limit: why.limit, used: why.used });
    case "cost":
      return t("start.whyCost", {
        limit: money(why.limit, why.currency),
        used: money(why.used, why.currency),
      });
    case "budget":
      return why.until ? t("start.whyBudgetUntil", { when: time(why.until) }) : t("start.whyBudget");
    case "budget-rate":
      return t("start.whyBudgetRate", {
        limit: money(why.limit, why.currency),
        used: money(why.used, why.currency),
      });
    case "elsewhere":
      return t("start.whyElsewhere", { datacenter: why.datacenter });
  }
}
