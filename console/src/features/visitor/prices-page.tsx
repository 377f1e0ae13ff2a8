import { offers, storageOffers } from "@/api/catalogue";
import type { StorageOffer } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { monthlyOf } from "@/lib/money";
import { PageHead, Section } from "@/ui/page";
import { type Column, Table } from "@/ui/table";
import { cheapest } from "./estimate";
import { Estimator } from "./estimator";
import { OfferTable } from "./offer-table";

export function PricesPage() {
  const { t } = useText();
  const { money } = useFormat();
  const gpus = useLoaded(offers);
  const storages = useLoaded(storageOffers);
  const from = cheapest(gpus);
  const free = gpus.filter((it) => it.datacenters.some(({ room }) => room !== "none")).length;
  return (
    <>
      <PageHead title={t("visitor.prices")}>
        {from &&
          t("visitor.pricesSentence", {
            price: t("ui.perHour", { price: money(from.price_per_hour, from.currency) }),
            free: t("visitor.withRoom", { count: free }),
            all: gpus.length,
          })}
      </PageHead>
      <Section title={t("visitor.gpus")} hint={t("visitor.gpusHint")}>
        <OfferTable items={gpus} />
      </Section>
      <Section title={t("visitor.storages")} hint={t("visitor.storagesHint")}>
        <StorageTable items={storages} />
      </Section>
      {gpus.length > 0 && <Estimator offers={gpus} storages={storages} />}
    </>
  );
}

function StorageTable({ items }: { items: readonly StorageOffer[] }) {
  const { t } = useText();
  const { money, total } = useFormat();
  const kinds = { volume: t("visitor.volume"), bucket: t("visitor.bucket") };
  const perGib = (it: StorageOffer) => money(it.price_per_gib_month, it.currency);
  const example = (it: StorageOffer) => total(monthlyOf([{ ...it, size_gib: 100 }]));
  const sizes = (it: StorageOffer) =>
    it.min_size_gib === it.max_size_gib
      ? t("visitor.gib", { size: it.min_size_gib })
      : t("visitor.sizes", { min: it.min_size_gib, max: it.max_size_gib });
  const name = (it: StorageOffer) => (
    <span className="block min-w-0">
      <span className="block font-medium">{kinds[it.kind]}</span>
      <span className="block truncate font-mono text-ink-3 text-xs">{it.name}</span>
    </span>
  );
  const columns: Column<StorageOffer>[] = [
    { key: "kind", label: t("visitor.kind"), width: "minmax(12rem, 1.6fr)", cell: name },
    {
      key: "sizes",
      label: t("visitor.size"),
      width: "minmax(9rem, 1fr)",
      cell: (it) => <span className="num text-sm">{sizes(it)}</span>,
    },
    {
      key: "example",
      label: t("visitor.hundred"),
      width: "10rem",
      end: true,
      cell: (it) => <span className="num text-ink-2 text-sm">{example(it)}</span>,
    },
    {
      key: "price",
      label: t("visitor.gibMonth"),
      width: "10rem",
      end: true,
      cell: (it) => <span className="num font-medium text-sm">{perGib(it)}</span>,
    },
  ];
  return (
    <Table
      label={t("visitor.storages")}
      items={items}
      columns={columns}
      rowKey={(it) => it.name}
      empty={<p className="px-4 py-8 text-center text-ink-2 text-sm">{t("visitor.noStorages")}</p>}
      narrow={(it) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-3">
          {name(it)}
          <span className="num text-right text-sm">
            <span className="block font-medium">{perGib(it)}</span>
            <span className="block text-ink-3 text-xs">{t("visitor.gibMonth")}</span>
          </span>
          <span className="num col-span-2 mt-1 text-ink-2 text-xs">{sizes(it)}</span>
        </div>
      )}
    />
  );
}
