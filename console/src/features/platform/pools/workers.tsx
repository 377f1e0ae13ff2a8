import type { Worker } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { ActionMenu } from "@/ui/menu";
import { StateMark } from "@/ui/state";
import { type Column, Table } from "@/ui/table";

/** Workers with their node and what they do. */
export function WorkerTable({
  items,
  onEnd,
  onRemove,
}: {
  items: readonly Worker[];
  onEnd: (() => void) | undefined;
  onRemove: (worker: Worker) => void;
}) {
  const { t } = useText();
  const { relative } = useFormat();
  const now = useNow();
  const mono = (text: string) => <span className="block truncate font-mono text-xs">{text}</span>;
  const seen = (it: Worker) => (
    <span className="num text-ink-2 text-sm">{it.last_seen_at ? relative(it.last_seen_at, now) : "–"}</span>
  );
  const whyNot = (it: Worker) =>
    it.stage === null
      ? it.job_id !== null && t("pools.deleteNeedsIdle")
      : (it.stage === "draining" || it.stage === "leaving") && t("pools.isDraining");
  const menu = (it: Worker) => (
    <ActionMenu
      label={t("pools.workerActions", { name: it.name })}
      entries={[
        {
          key: "remove",
          label: t(it.stage === null ? "pools.deleteWorkerDots" : "pools.drainDots"),
          danger: it.stage === null,
          disabled: whyNot(it),
          onSelect: () => onRemove(it),
        },
      ]}
    />
  );
  const columns: Column<Worker>[] = [
    {
      key: "name",
      label: t("platform.name"),
      width: "minmax(8rem, 1fr)",
      cell: (it) => <span className="font-medium text-sm">{it.name}</span>,
    },
    {
      key: "state",
      label: t("platform.state"),
      width: "minmax(9rem, 1.2fr)",
      cell: (it) => <State it={it} />,
    },
    { key: "spec", label: t("platform.specification"), width: "9rem", cell: (it) => mono(it.gpu_spec) },
    { key: "node", label: t("platform.node"), width: "8rem", cell: (it) => mono(it.node || "–") },
    {
      key: "tenure",
      label: t("pools.tenure"),
      width: "6.5rem",
      cell: (it) => (
        <span className="text-ink-2 text-sm">
          {it.stage === null
            ? t("pools.isRegistered")
            : t(it.tenure === "lent" ? "pools.lent" : "pools.firm")}
        </span>
      ),
    },
    { key: "seen", label: t("pools.seen"), width: "8rem", end: true, cell: seen },
    { key: "menu", label: t("platform.actions"), hiddenLabel: true, width: "2rem", end: true, cell: menu },
  ];
  return (
    <Table
      label={t("pools.workers")}
      items={items}
      columns={columns}
      rowKey={(it) => it.id}
      rowHeight={36}
      onEnd={onEnd}
      empty={<p className="px-4 py-3 text-ink-2 text-sm">{t("pools.noWorkers")}</p>}
      narrow={(it) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3">
          <div className="grid min-w-0 grid-cols-[minmax(0,1fr)_auto] gap-x-3 [&>:nth-child(even)]:justify-self-end">
            <span className="truncate font-medium text-sm">{it.name}</span>
            <State it={it} />
            {mono(it.node || "–")}
            {seen(it)}
          </div>
          {menu(it)}
        </div>
      )}
    />
  );
}

function State({ it }: { it: Worker }) {
  const { t } = useText();
  const { clock } = useFormat();
  if (it.leave_by)
    return <StateMark mark="moves">{t("pools.leaves", { time: clock(it.leave_by) })}</StateMark>;
  if (it.stage === "draining") return <StateMark mark="moves">{t("pools.draining")}</StateMark>;
  if (it.stage === "leaving") return <StateMark mark="moves">{t("pools.leaving")}</StateMark>;
  if (it.stage === null && it.last_seen_at === null)
    return <StateMark mark="rests">{t("pools.notStarted")}</StateMark>;
  if (it.state === "offline")
    return (
      <StateMark mark={it.stage === null ? "failed" : "moves"}>
        {it.stage === null ? t("pools.offline") : t("pools.starting")}
      </StateMark>
    );
  return (
    <StateMark mark="runs">
      {it.job_id ? t("pools.runs", { job: shortId(it.job_id) }) : t("pools.isIdle")}
    </StateMark>
  );
}
