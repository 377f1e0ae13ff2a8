import type { Instance, InstanceId, MeteredRun } from "@/api/generated/types";
import { runs } from "@/api/instances/details";
import { instance } from "@/api/instances/queries";
import { useLoaded, useLoadedPages } from "@/api/query";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { costOf, parseAmount, totalOf } from "@/lib/money";
import { Empty } from "@/ui/page";
import { Ring } from "@/ui/state";
import { type Column, Table } from "@/ui/table";

/** All runs and holds, with what each cost and why it ended. */
export function RunsPage({ id }: { id: InstanceId }) {
  const { t } = useText();
  const { money, time, total, duration } = useFormat();
  const it = useLoaded(instance(id));
  const list = useLoadedPages(runs(id));
  const items = list.data.pages.flatMap((page) => page.items);
  const [first] = list.data.pages;
  const totals = totalOf(first?.totals ?? [], (one) => parseAmount(one.amount));
  const price = (run: MeteredRun) => t("ui.perHour", { price: money(run.price_per_hour, run.currency) });
  const columns: Column<MeteredRun>[] = [
    {
      key: "from",
      label: t("instance.runFrom"),
      width: "minmax(10rem, 1fr)",
      cell: (run) => (
        <span className="num flex items-center gap-2 text-sm">
          <Ring mark={run.ended_at ? "rests" : "runs"} />
          {time(run.started_at)}
        </span>
      ),
    },
    {
      key: "to",
      label: t("instance.runTo"),
      width: "minmax(9rem, 1fr)",
      cell: (run) => (
        <span className="num text-sm">{run.ended_at ? time(run.ended_at) : t("instance.runNow")}</span>
      ),
    },
    {
      key: "length",
      label: t("instance.runLength"),
      width: "7rem",
      end: true,
      cell: (run) => <Length run={run} />,
    },
    {
      key: "price",
      label: t("instance.price"),
      width: "5rem",
      end: true,
      cell: (run) => <span className="num text-ink-2 text-sm">{price(run)}</span>,
    },
    {
      key: "cost",
      label: t("instance.runCost"),
      width: "6.5rem",
      end: true,
      cell: (run) => <Cost run={run} />,
    },
    {
      key: "why",
      label: t("instance.runWhy"),
      width: "minmax(10rem, 1.2fr)",
      cell: (run) => <Why run={run} />,
    },
  ];
  return (
    <Table
      label={t("instance.runsOf", { name: it.name })}
      items={items}
      columns={columns}
      rowKey={(run) => run.id}
      rowHeight={44}
      onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
      empty={<Never it={it} />}
      footer={
        first && (
          <span className="num flex flex-wrap justify-between gap-x-4">
            <span>
              {t("instance.runsTotal", { duration: duration(first.total_seconds) })}
              {first.held_seconds > 0 &&
                ` · ${t("instance.heldTotal", { duration: duration(first.held_seconds) })}`}
            </span>
            {totals.size > 0 && (
              <span className="font-medium text-ink">{t("instance.onBill", { cost: total(totals) })}</span>
            )}
          </span>
        )
      }
      narrow={(run) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-4">
          <span className="num flex items-center gap-2 text-sm">
            <Ring mark={run.ended_at ? "rests" : "runs"} />
            {time(run.started_at)}
          </span>
          <Cost run={run} />
          <span className="text-ink-3 text-xs">
            <Length run={run} /> · {price(run)}
          </span>
          <span className="text-right text-ink-3 text-xs">
            <Why run={run} />
          </span>
        </div>
      )}
    />
  );
}

function Never({ it }: { it: Instance }) {
  const { t } = useText();
  return <Empty title={t("instance.neverRan")}>{t("instance.neverRanHint", { name: it.name })}</Empty>;
}

function useSeconds(run: MeteredRun): number {
  const now = useNow();
  return run.ended_at ? run.seconds : Math.max(0, (now - Date.parse(run.started_at)) / 1000);
}

function Length({ run }: { run: MeteredRun }) {
  const { duration } = useFormat();
  return <span className="num text-sm max-md:text-xs">{duration(useSeconds(run))}</span>;
}

function Cost({ run }: { run: MeteredRun }) {
  const { money } = useFormat();
  const seconds = useSeconds(run);
  const amount = run.ended_at ? run.amount : costOf(run.price_per_hour, seconds);
  return <span className="num font-medium text-sm">{money(amount, run.currency)}</span>;
}

function Why({ run }: { run: MeteredRun }) {
  const { t } = useText();
  return (
    <span className="text-ink-2 text-sm max-md:text-ink-3 max-md:text-xs">
      {run.kind === "held" && `${t("instances.held")} · `}
      {run.end_reason ? t(`instance.end_${run.end_reason}`) : t("instance.runGoesOn")}
      {run.correction && (
        <span className="block text-ochre text-xs">{t(`instance.correction_${run.correction}`)}</span>
      )}
    </span>
  );
}
