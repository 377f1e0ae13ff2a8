import type { JobUsageGroup } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { ButtonLink } from "@/ui/button";
import { Empty } from "@/ui/page";
import { type Column, Table } from "@/ui/table";
import type { JobGrouping } from "./choices";
import { figureOf, sumOf } from "./report";
import { Cost, TableFoot, useHours, useShares } from "./table-parts";

interface Props {
  groups: readonly JobUsageGroup[];
  /** What was charged and what was not, of the whole window. */
  charges: readonly JobUsageGroup[];
  by: JobGrouping;
  /** Null if it is not among the pools that the tenant can use. */
  poolName: (id: string) => string | null;
  onEnd: (() => void) | undefined;
}

/** What the sum of jobs is made of: what was charged, apart from what was not. */
export function JobTable({ groups, charges, by, poolName, onEnd }: Props) {
  const { t } = useText();
  const { number } = useFormat();
  const hours = useHours();
  const sums = sumOf(charges);
  const share = useShares(groups, sums);
  const heads = {
    day: t("usage.day"),
    kind: t("usage.kind"),
    pool: t("usage.pool"),
    spec: t("usage.spec"),
    charge: t("usage.charge"),
  };
  const name = (group: JobUsageGroup) => <Name group={group} by={by} poolName={poolName} />;
  const cost = (group: JobUsageGroup) => <Cost row={group} />;
  const attempts = ({ attempts, open_attempts }: JobUsageGroup) => (
    <span className="num text-ink-2 text-sm">
      {attempts + open_attempts > 0 ? number(attempts + open_attempts) : t("usage.none")}
    </span>
  );
  const time = (of: "seconds" | "uncharged_seconds") => (group: JobUsageGroup) => (
    <span className="num text-ink-2 text-sm">{hours(group[of])}</span>
  );
  const columns: Column<JobUsageGroup>[] = [
    { key: "group", label: heads[by], width: "minmax(9rem, 1fr)", cell: name },
    { key: "attempts", label: t("usage.attempts"), width: "4rem", end: true, cell: attempts },
    { key: "charged", label: t("usage.charged"), width: "5rem", end: true, cell: time("seconds") },
    { key: "free", label: t("usage.uncharged"), width: "5.5rem", end: true, cell: time("uncharged_seconds") },
    { key: "share", label: t("usage.share"), width: "8rem", cell: share },
    { key: "cost", label: t("usage.cost"), width: "5.5rem", end: true, cell: cost },
  ];
  return (
    <Table
      label={t("usage.jobTableOf", { group: heads[by] })}
      items={groups}
      columns={columns}
      rowKey={(group) => `${group.group} ${group.currency}`}
      rowHeight={36}
      onEnd={onEnd}
      empty={
        <Empty
          title={t("usage.emptyJobsTitle")}
          actions={<ButtonLink to="/jobs/new">{t("usage.emptyJobsStart")}</ButtonLink>}
        >
          {t("usage.emptyJobsHint")}
        </Empty>
      }
      footer={
        <TableFoot
          count={groups.length}
          isWhole={onEnd === undefined}
          facts={[
            `${t("usage.charged")} ${hours(figureOf(charges, "seconds"))}`,
            `${t("usage.uncharged")} ${hours(figureOf(charges, "uncharged_seconds"))}`,
          ]}
          sums={sums}
        />
      }
      narrow={(group) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-1">
          {name(group)}
          <span className="text-right">{cost(group)}</span>
          {share(group)}
          <span className="num text-right text-ink-3 text-xs">
            {t("usage.narrowTimes", {
              charged: hours(group.seconds),
              uncharged: hours(group.uncharged_seconds),
            })}
          </span>
        </div>
      )}
    />
  );
}

function Name({
  group: { group },
  by,
  poolName,
}: {
  group: JobUsageGroup;
  by: JobGrouping;
  poolName: Props["poolName"];
}) {
  const { t } = useText();
  const { utcDay } = useFormat();
  const mono = (text: string) => <span className="block truncate font-mono text-sm">{text}</span>;
  const plain = (text: string) => <span className="block truncate text-sm">{text}</span>;
  const kinds: Record<string, string> = {
    generation: t("usage.jobs_generation"),
    training: t("usage.jobs_training"),
    batch: t("usage.jobs_batch"),
  };
  const charges: Record<string, string> = {
    charged: t("usage.charge_charged"),
    open: t("usage.charge_open"),
    loading: t("usage.charge_loading"),
    failed: t("usage.charge_failed"),
    lost: t("usage.charge_lost"),
    preempted: t("usage.charge_preempted"),
    recalled: t("usage.charge_recalled"),
    max_cost: t("usage.charge_max_cost"),
    job_failed: t("usage.charge_job_failed"),
    no_price: t("usage.charge_no_price"),
  };
  switch (by) {
    case "day":
      return <span className="num text-sm">{utcDay(group)}</span>;
    case "kind":
      return plain(kinds[group] ?? group);
    case "charge":
      return plain(charges[group] ?? group);
    case "pool":
      return mono(poolName(group) ?? shortId(group));
    default:
      return mono(group);
  }
}
