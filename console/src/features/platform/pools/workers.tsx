import type { Worker } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { StateMark } from "@/ui/state";
import { type Column, Table } from "@/ui/table";

/** Workers with their node and what they do. */
export function WorkerTable({ items, onEnd }: { items: readonly Worker[]; onEnd: (() => void) | undefined }) {
  const { t } = useText();
  const { relative } = useFormat();
  const now = useNow();
  const mono = (text: string) => <span className="block truncate font-mono text-xs">{text}</span>;
  const seen = (it: Worker) => (
    <span className="num text-ink-2 text-sm">{it.last_seen_at ? relative(it.last_seen_at, now) : "–"}</span>
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
      width: "5rem",
      cell: (it) => (
        <span className="text-ink-2 text-sm">{it.tenure === "lent" ? t("pools.lent") : t("pools.firm")}</span>
      ),
    },
    { key: "seen", label: t("pools.seen"), width: "8rem", end: true, cell: seen },
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
        <div className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-3">
          <span className="font-medium text-sm">{it.name}</span>
          <State it={it} />
          {mono(it.node || "–")}
          {seen(it)}
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
