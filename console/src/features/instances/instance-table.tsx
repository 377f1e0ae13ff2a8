import { Link } from "@tanstack/react-router";
import { clsx } from "clsx";
import type { ReactNode } from "react";
import type { Instance, InstanceId, ListTotal } from "@/api/generated/types";
import type { EndedRuns } from "@/api/instances/queries";
import { InstanceMenu } from "@/domain/instances/menu";
import { OpenLink } from "@/domain/instances/open-link";
import { RunStrip } from "@/domain/instances/run-strip";
import { StateCell } from "@/domain/instances/state-cell";
import { RunCell } from "@/domain/instances/ticking";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { useListTotal } from "@/lib/list-total";
import { useNarrow, useWide } from "@/lib/narrow";
import { type Column, Table } from "@/ui/table";

interface Props {
  items: readonly Instance[];
  ended: EndedRuns | undefined;
  onDelete: (it: Instance) => void;
  chosen: ReadonlySet<InstanceId>;
  /** Absent for those who may not do anything with them. */
  onChoose: ((chosen: ReadonlySet<InstanceId>) => void) | undefined;
  empty: ReactNode;
  /** Of all pages. */
  total: ListTotal | null | undefined;
  isLoadingMore: boolean;
  onEnd: (() => void) | undefined;
}

export function InstanceTable({
  items,
  ended,
  onDelete,
  chosen,
  onChoose,
  empty,
  total,
  isLoadingMore,
  onEnd,
}: Props) {
  const { t } = useText();
  const { number } = useFormat();
  const all = useListTotal()(onEnd && total, items.length);
  const isWide = useWide();
  const isNarrow = useNarrow();
  const choose = (id: InstanceId, on: boolean) => {
    const next = new Set(chosen);
    if (on) next.add(id);
    else next.delete(id);
    onChoose?.(next);
  };
  const box = (it: Instance) =>
    onChoose && (
      <Box
        label={t("instances.choose", { name: it.name })}
        checked={chosen.has(it.id)}
        onChange={(on) => choose(it.id, on)}
      />
    );
  const columns: Column<Instance>[] = [
    ...(onChoose
      ? [
          {
            key: "choose",
            label: t("instances.chooseAll"),
            head: isNarrow ? undefined : (
              <Box
                label={t("instances.chooseAll")}
                checked={items.length > 0 && items.every((it) => chosen.has(it.id))}
                some={items.some((it) => chosen.has(it.id))}
                onChange={(on) => onChoose(new Set(on ? items.map((it) => it.id) : []))}
              />
            ),
            width: "1rem",
            cell: box,
          },
        ]
      : []),
    {
      key: "name",
      label: t("instances.name"),
      width: "minmax(8.5rem, 1.2fr)",
      cell: (it) => <NameCell it={it} />,
    },
    {
      key: "state",
      label: t("instances.state"),
      width: "minmax(9rem, 1.3fr)",
      cell: (it) => <StateCell it={it} />,
    },
    { key: "gpu", label: t("instances.gpu"), width: "8.5rem", cell: (it) => <GpuCell it={it} /> },
    ...(isWide
      ? [
          {
            key: "day",
            label: t("instances.lastDay"),
            width: "9rem",
            cell: (it: Instance) => <RunStrip it={it} ended={ended} />,
          },
        ]
      : []),
    { key: "run", label: t("instances.thisRun"), width: "6rem", cell: (it) => <RunCell it={it} /> },
    {
      key: "open",
      label: t("instances.open"),
      hiddenLabel: true,
      width: isWide ? "7.75rem" : "1.75rem",
      end: true,
      cell: (it) => <OpenLink it={it} small icon={!isWide} />,
    },
    {
      key: "actions",
      label: t("instances.actions"),
      hiddenLabel: true,
      width: "1.75rem",
      end: true,
      cell: (it) => <InstanceMenu it={it} onDelete={onDelete} />,
    },
  ];
  return (
    <Table
      label={t("instances.title")}
      items={items}
      columns={columns}
      rowKey={(it) => it.id}
      empty={empty}
      isChosen={(it) => chosen.has(it.id)}
      onEnd={onEnd}
      footer={
        <span className="num">
          {isLoadingMore
            ? t("instances.loadingMore")
            : all
              ? t("instances.shownTotal", { shown: number(items.length), total: all })
              : onEnd
                ? t("instances.shownMore", { count: items.length })
                : t("instances.shownOf", { count: items.length })}
        </span>
      }
      narrow={(it) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] items-start gap-x-3 gap-y-1.5">
          <div className="flex min-w-0 items-start gap-3">
            {onChoose && <span className="pt-1">{box(it)}</span>}
            <NameCell it={it} />
          </div>
          <div className="-my-1">
            <InstanceMenu it={it} onDelete={onDelete} />
          </div>
          <div className={clsx("col-span-2 grid grid-cols-2 gap-x-4 gap-y-1.5", onChoose && "pl-7")}>
            <StateCell it={it} />
            <div className="min-w-0">
              <RunCell it={it} />
              <span className="block truncate text-ink-3 text-xs">
                {it.gpu_spec.name}
                {it.datacenter && ` · ${it.datacenter}`}
              </span>
            </div>
            {it.state === "running" && (
              <div className="col-span-2 grid pt-1">
                <OpenLink it={it} />
              </div>
            )}
          </div>
        </div>
      )}
    />
  );
}

function NameCell({ it }: { it: Instance }) {
  const { t } = useText();
  const runs = it.service ? [it.service, it.version].filter(Boolean).join(" ") : t("instances.ownImage");
  return (
    <span className="block min-w-0">
      <Link
        to="/instances/$id"
        params={{ id: it.id }}
        className="block truncate font-medium hover:text-ultra hover:underline"
      >
        {it.name}
      </Link>
      <span className="block truncate text-ink-3 text-xs" title={runs}>
        {it.managed_by ? t("instances.managedBy", { service: it.managed_by }) : runs}
      </span>
    </span>
  );
}

function GpuCell({ it }: { it: Instance }) {
  const { t } = useText();
  return (
    <span className="block min-w-0">
      <span className="block truncate font-mono text-xs leading-5">{it.gpu_spec.name}</span>
      <span className="block truncate text-ink-3 text-xs">{it.datacenter ?? t("instances.anyPlace")}</span>
    </span>
  );
}

function Box({
  label,
  checked,
  some,
  onChange,
}: {
  label: string;
  checked: boolean;
  some?: boolean;
  onChange: (on: boolean) => void;
}) {
  return (
    // the label makes the target as large as a finger needs
    <label className="-m-1 grid size-6 cursor-pointer place-items-center">
      <input
        type="checkbox"
        aria-label={label}
        checked={checked}
        ref={(element) => {
          if (element) element.indeterminate = Boolean(some) && !checked;
        }}
        onChange={(event) => onChange(event.target.checked)}
        className="size-4"
      />
    </label>
  );
}
