import { Link } from "@tanstack/react-router";
import type { Offer } from "@/api/generated/types";
import { gpuTitle } from "@/domain/instances/gpu";
import { RoomMark } from "@/domain/room-mark";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { perDay } from "@/lib/money";
import { type Column, Table } from "@/ui/table";
import { sortedByPrice } from "./estimate";

const gib = (mib: number) => Math.round(mib / 1024);

/** What is for sale: what it has, where there is room, what it costs. The cheapest first. */
export function OfferTable({ items }: { items: readonly Offer[] }) {
  const { t } = useText();
  const { money } = useFormat();
  const size = (mib: number) => t("visitor.gb", { size: gib(mib) });
  const cores = (it: Offer) => t("visitor.cores", { count: it.cpu_millis / 1000 });
  const hourly = (it: Offer) => t("ui.perHour", { price: money(it.price_per_hour, it.currency) });
  const daily = (it: Offer) => money(perDay(it.price_per_hour), it.currency);
  const number = (text: string) => <span className="num text-sm">{text}</span>;
  const columns: Column<Offer>[] = [
    { key: "gpu", label: t("visitor.gpu"), width: "minmax(8rem, 1fr)", cell: (it) => <Name it={it} /> },
    {
      key: "video",
      label: t("visitor.videoMemory"),
      width: "5.5rem",
      cell: (it) => number(size(it.video_memory_mib * it.gpu_count)),
    },
    { key: "cpu", label: t("visitor.cpu"), width: "5rem", cell: (it) => number(cores(it)) },
    { key: "memory", label: t("visitor.memory"), width: "5rem", cell: (it) => number(size(it.memory_mib)) },
    { key: "room", label: t("visitor.room"), width: "minmax(10rem, 1.8fr)", cell: (it) => <Rooms it={it} /> },
    {
      key: "hour",
      label: t("visitor.hourly"),
      width: "5rem",
      end: true,
      cell: (it) => <span className="num font-medium text-sm">{hourly(it)}</span>,
    },
    {
      key: "day",
      label: t("visitor.daily"),
      width: "5rem",
      end: true,
      cell: (it) => <span className="num text-ink-2 text-sm">{daily(it)}</span>,
    },
    {
      key: "estimate",
      label: t("visitor.estimate"),
      hiddenLabel: true,
      width: "5rem",
      end: true,
      cell: (it) => <EstimateLink it={it} />,
    },
  ];
  return (
    <Table
      label={t("visitor.gpus")}
      items={sortedByPrice(items)}
      columns={columns}
      rowKey={(it) => it.name}
      empty={<p className="px-4 py-8 text-center text-ink-2 text-sm">{t("visitor.nothing")}</p>}
      narrow={(it) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-3 gap-y-2">
          <Name it={it} />
          <span className="num text-right text-sm">
            <span className="block font-medium">{hourly(it)}</span>
            <span className="block text-ink-3 text-xs">{t("visitor.aDay", { price: daily(it) })}</span>
          </span>
          <p className="num text-ink-2 text-xs">
            {[size(it.video_memory_mib * it.gpu_count), cores(it), size(it.memory_mib)].join(" · ")}
          </p>
          <EstimateLink it={it} />
          <div className="col-span-2">
            <Rooms it={it} />
          </div>
        </div>
      )}
    />
  );
}

function Name({ it }: { it: Offer }) {
  return (
    <span className="block min-w-0">
      <span className="block truncate font-medium">{gpuTitle(it)}</span>
      <span className="block truncate font-mono text-ink-3 text-xs">{it.name}</span>
    </span>
  );
}

function Rooms({ it }: { it: Offer }) {
  const { t } = useText();
  if (it.datacenters.length === 0)
    return <span className="text-ink-3 text-xs">– {t("visitor.nowhere")}</span>;
  return (
    <ul className="grid grid-cols-[repeat(auto-fill,minmax(4rem,1fr))] gap-x-2 gap-y-1">
      {it.datacenters.map(({ name, room }) => (
        <li key={name} className="min-w-0">
          <span className="block truncate text-2xs text-ink-3">{name}</span>
          <RoomMark level={room} />
        </li>
      ))}
    </ul>
  );
}

function EstimateLink({ it }: { it: Offer }) {
  const { t } = useText();
  return (
    <Link
      to="/prices"
      search={{ gpu: it.name }}
      hash="estimate"
      aria-label={t("visitor.estimateOf", { gpu: it.name })}
      className="justify-self-end text-sm text-ultra hover:underline max-md:min-h-6"
    >
      {t("visitor.estimate")}
    </Link>
  );
}
