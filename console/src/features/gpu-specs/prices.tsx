import type { GpuSpecId, Price } from "@/api/generated/types";
import { useLoadedPages } from "@/api/query";
import { gpuSpecPrices } from "@/api/stock";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { Panel, Section } from "@/ui/page";
import { PriceLine } from "./price-line";

export function Prices({ id }: { id: GpuSpecId }) {
  const { t } = useText();
  const pages = useLoadedPages(gpuSpecPrices(id));
  const prices = pages.data.pages.flatMap((page) => page.items);
  return (
    <Section title={t("catalogue.prices")} hint={t("catalogue.pricesHint")}>
      <Panel className="overflow-hidden">
        <PriceLine prices={prices} />
        <ol className="divide-y divide-line">
          {prices.map((price, i) => (
            <Step key={price.effective_from} price={price} before={prices[i + 1]} />
          ))}
        </ol>
      </Panel>
      {pages.hasNextPage && (
        <Button small kind="quiet" className="mt-2" onClick={() => void pages.fetchNextPage()}>
          {t("catalogue.olderPrices")}
        </Button>
      )}
    </Section>
  );
}

function Step({ price, before }: { price: Price; before: Price | undefined }) {
  const { t } = useText();
  const { money, day, percent } = useFormat();
  const rise = before ? Number(price.price_per_hour) / Number(before.price_per_hour) - 1 : 0;
  return (
    <li className="num grid min-h-9 grid-cols-[6rem_5rem_minmax(0,1fr)_auto] items-center gap-x-3 px-4 py-1.5 text-sm max-md:grid-cols-[5rem_4rem_minmax(0,1fr)]">
      <span className="font-medium">
        {t("ui.perHour", { price: money(price.price_per_hour, price.currency) })}
      </span>
      <span className="text-ink-3 text-xs">
        {rise !== 0 && Number.isFinite(rise) && percent(rise, "signed")}
      </span>
      <span className="truncate text-ink-2 text-xs max-md:hidden">
        {price.hold_price_fraction === null
          ? t("catalogue.noHold")
          : t("catalogue.holdOf", { percent: percent(Number(price.hold_price_fraction)) })}
      </span>
      <span className="text-right text-ink-3 text-xs">
        {price.effective_until
          ? t("catalogue.fromTo", { from: day(price.effective_from), to: day(price.effective_until) })
          : t("catalogue.sinceDay", { from: day(price.effective_from) })}
      </span>
    </li>
  );
}
