import { Link } from "@tanstack/react-router";
import type { UsageGroup } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { ButtonLink } from "@/ui/button";
import { Empty } from "@/ui/page";
import { type Column, Table } from "@/ui/table";
import type { Grouping } from "./choices";
import type { Named } from "./names";
import { figureOf, sumOf } from "./report";
import { Cost, TableFoot, useHours, useShares } from "./table-parts";

interface Props {
  groups: readonly UsageGroup[];
  /** Of the whole window, also while not all rows are here. */
  kinds: readonly UsageGroup[];
  by: Grouping;
  nameOf: (group: UsageGroup) => Named;
  onEnd: (() => void) | undefined;
}

/** What the sum of instances is made of. */
export function UsageTable({ groups, kinds, by, nameOf, onEnd }: Props) {
  const { t } = useText();
  const hours = useHours();
  const sums = sumOf(kinds);
  const share = useShares(groups, sums);
  const held = figureOf(kinds, "held_seconds");
  const heads = {
    day: t("usage.day"),
    spec: t("usage.spec"),
    instance: t("usage.instance"),
    kind: t("usage.kind"),
  };
  const name = (group: UsageGroup) => (
    <Name group={group} by={by} named={by === "instance" ? nameOf(group) : null} />
  );
  const cost = (group: UsageGroup) => <Cost row={group} />;
  const columns: Column<UsageGroup>[] = [
    { key: "group", label: heads[by], width: "minmax(9rem, 1fr)", cell: name },
    {
      key: "running",
      label: t("usage.running"),
      width: "5.5rem",
      end: true,
      cell: (group) => <span className="num text-ink-2 text-sm">{hours(group.running_seconds)}</span>,
    },
    {
      key: "held",
      label: t("usage.held"),
      width: "4.5rem",
      end: true,
      cell: (group) => <span className="num text-ink-2 text-sm">{hours(group.held_seconds)}</span>,
    },
    {
      key: "share",
      label: t("usage.share"),
      width: "8.5rem",
      cell: share,
    },
    { key: "cost", label: t("usage.cost"), width: "5.5rem", end: true, cell: cost },
  ];
  return (
    <Table
      label={t("usage.tableOf", { group: heads[by] })}
      items={groups}
      columns={columns}
      rowKey={(group) => `${group.group} ${group.currency}`}
      rowHeight={by === "instance" ? 44 : 36}
      onEnd={onEnd}
      empty={
        <Empty
          title={t("usage.emptyTitle")}
          actions={<ButtonLink to="/instances/new">{t("usage.emptyStart")}</ButtonLink>}
        >
          {t("usage.emptyHint")}
        </Empty>
      }
      footer={
        <TableFoot
          count={groups.length}
          isWhole={onEnd === undefined}
          facts={[
            `${t("usage.running")} ${hours(figureOf(kinds, "running_seconds"))}`,
            held > 0 && `${t("usage.held")} ${hours(held)}`,
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
            {hours(group.running_seconds + group.held_seconds)}
          </span>
        </div>
      )}
    />
  );
}

function Name({ group, by, named }: { group: UsageGroup; by: Grouping; named: Named | null }) {
  const { t } = useText();
  const { utcDay } = useFormat();
  if (by === "day") return <span className="num text-sm">{utcDay(group.group)}</span>;
  if (by === "kind")
    return (
      <span className="text-sm">{group.group === "held" ? t("usage.kindHeld") : t("usage.kindRunning")}</span>
    );
  if (by === "spec")
    return <span className="block truncate font-mono text-sm">{group.group || t("usage.none")}</span>;
  const second = named?.spec ?? (named?.isDeleted ? t("usage.deleted") : t("usage.unknownInstance"));
  return (
    <span className="block min-w-0">
      {named?.spec ? (
        <Link
          to="/instances/$id"
          params={{ id: group.group }}
          className="block truncate font-medium text-sm hover:underline"
        >
          {named.name}
        </Link>
      ) : (
        <span className="block truncate text-sm" title={group.group}>
          {named?.name ?? <span className="font-mono">{shortId(group.group)}</span>}
        </span>
      )}
      <span
        className={
          named?.spec ? "block truncate font-mono text-ink-3 text-xs" : "block truncate text-ink-3 text-xs"
        }
      >
        {second}
      </span>
    </span>
  );
}
