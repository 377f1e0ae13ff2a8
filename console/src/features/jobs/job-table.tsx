import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Job, ListTotal } from "@/api/generated/types";
import { pageOf } from "@/domain/jobs/address";
import { useAsked } from "@/domain/jobs/asked";
import { CostCell } from "@/domain/jobs/cost";
import { JobMenu } from "@/domain/jobs/menu";
import { reasonOf, standingOf } from "@/domain/jobs/standing";
import { Thumb } from "@/domain/jobs/thumb";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { useListTotal } from "@/lib/list-total";
import { StateMark } from "@/ui/state";
import { type Column, Table } from "@/ui/table";

interface Props {
  items: readonly Job[];
  empty: ReactNode;
  /** Of all pages. */
  total: ListTotal | null | undefined;
  isLoadingMore: boolean;
  onEnd: (() => void) | undefined;
}

/** Jobs that have ended, newest first. */
export function JobTable({ items, empty, total, isLoadingMore, onEnd }: Props) {
  const { t } = useText();
  const { number } = useFormat();
  const all = useListTotal()(onEnd && total, items.length);
  const columns: Column<Job>[] = [
    {
      key: "picture",
      label: t("jobs.picture"),
      hiddenLabel: true,
      width: "2.75rem",
      cell: (it) => <Thumb it={it} />,
    },
    { key: "job", label: t("jobs.job"), width: "minmax(10rem, 1.6fr)", cell: (it) => <NameCell it={it} /> },
    { key: "state", label: t("jobs.state"), width: "minmax(8rem, 1fr)", cell: (it) => <StateCell it={it} /> },
    { key: "took", label: t("jobs.took"), width: "5.5rem", cell: (it) => <Took it={it} /> },
    { key: "cost", label: t("jobs.cost"), width: "5.5rem", cell: (it) => <CostCell it={it} /> },
    {
      key: "actions",
      label: t("jobs.actions"),
      hiddenLabel: true,
      width: "1.75rem",
      end: true,
      cell: (it) => <JobMenu it={it} />,
    },
  ];
  return (
    <Table
      label={t("jobs.finished")}
      items={items}
      columns={columns}
      rowKey={(it) => it.id}
      empty={empty}
      onEnd={onEnd}
      footer={
        <span className="num">
          {isLoadingMore
            ? t("jobs.loadingMore")
            : all
              ? t("jobs.shownTotal", { shown: number(items.length), total: all })
              : onEnd
                ? t("jobs.shownMore", { count: items.length })
                : t("jobs.shownOf", { count: items.length })}
        </span>
      }
      narrow={(it) => (
        <div className="grid grid-cols-[auto_minmax(0,1fr)_auto] items-start gap-x-3 gap-y-1.5">
          <Thumb it={it} />
          <NameCell it={it} />
          <div className="-my-1">
            <JobMenu it={it} />
          </div>
          <div className="col-span-3 grid grid-cols-[minmax(0,1fr)_auto] gap-x-3">
            <StateCell it={it} />
            <span className="flex gap-3">
              <Took it={it} />
              <CostCell it={it} />
            </span>
          </div>
        </div>
      )}
    />
  );
}

function NameCell({ it }: { it: Job }) {
  const { t } = useText();
  const { clock } = useFormat();
  const { name, isKnown } = useAsked(it);
  const about = [isKnown && t(`jobs.${it.kind}`), clock(it.ended_at ?? it.created_at), it.group];
  return (
    <span className="block min-w-0">
      <Link
        {...pageOf(it)}
        title={name}
        className="block truncate font-medium hover:text-ultra hover:underline"
      >
        {name}
      </Link>
      <span className="num block truncate text-ink-3 text-xs">{about.filter(Boolean).join(" · ")}</span>
    </span>
  );
}

function StateCell({ it }: { it: Job }) {
  const { t } = useText();
  const { mark, word } = standingOf(it);
  const reason = reasonOf(it, t);
  return (
    <StateMark
      mark={mark}
      reason={
        reason && (
          <span className="line-clamp-1" title={reason}>
            {reason}
          </span>
        )
      }
    >
      {t(word)}
    </StateMark>
  );
}

function Took({ it }: { it: Job }) {
  const { duration } = useFormat();
  if (!it.started_at || !it.ended_at) return <span className="text-ink-3 text-sm">–</span>;
  const seconds = (Date.parse(it.ended_at) - Date.parse(it.started_at)) / 1000;
  return <span className="num whitespace-nowrap text-sm">{duration(seconds)}</span>;
}
