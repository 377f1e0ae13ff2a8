import type { PoolCapacity, SpecWorkers } from "@/api/generated/types";
import { useText } from "@/i18n";
import { Panel } from "@/ui/page";
import { type Column, Table } from "@/ui/table";

/** Workers by specification, and what waits for them. */
export function CapacityTable({ now }: { now: PoolCapacity }) {
  const { t } = useText();
  const columns: Column<SpecWorkers>[] = [
    {
      key: "spec",
      label: t("platform.specification"),
      width: "minmax(10rem, 1fr)",
      cell: (it) => <span className="font-mono text-xs">{it.gpu_spec}</span>,
    },
    ...(["idle", "busy", "reserved", "closed", "firm", "lent"] as const).map((key) => ({
      key,
      label: t(`pools.${key}`),
      width: "6rem",
      end: true,
      cell: (it: SpecWorkers) => (
        <span className={`num text-sm ${it[key] === 0 ? "text-ink-3" : ""}`}>{it[key]}</span>
      ),
    })),
  ];
  const levels = {
    urgent: t("pools.urgent"),
    ordinary: t("pools.ordinary"),
    background: t("pools.background"),
  };
  return (
    <div className="space-y-2">
      <Table
        label={t("pools.capacity")}
        items={now.workers}
        columns={columns}
        rowKey={(it) => it.gpu_spec}
        rowHeight={36}
        empty={<p className="px-4 py-3 text-ink-2 text-sm">{t("pools.noWorkers")}</p>}
        narrow={(it) => (
          <span className="num text-sm">
            <span className="block font-mono text-xs">{it.gpu_spec}</span>
            {t("pools.narrowCapacity", { idle: it.idle, busy: it.busy, closed: it.closed })}
          </span>
        )}
      />
      <Panel className="num flex flex-wrap gap-x-8 gap-y-1 px-4 py-2.5 text-sm">
        {now.queued.map((it) => (
          <span key={it.level}>{t("pools.waiting", { level: levels[it.level], count: it.jobs })}</span>
        ))}
        <span className="text-ink-2">
          {now.next_hour === null
            ? t("pools.nextHourUnknown")
            : t("pools.nextHour", {
                starts: now.next_hour.reduce((sum, it) => sum + it.starts, 0),
                ends: now.next_hour.reduce((sum, it) => sum + it.ends, 0),
              })}
        </span>
      </Panel>
    </div>
  );
}
