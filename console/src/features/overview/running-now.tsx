import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Instance } from "@/api/generated/types";
import { endedRuns } from "@/api/instances/queries";
import { InstanceMenu } from "@/domain/instances/menu";
import { OpenLink } from "@/domain/instances/open-link";
import { RunStrip } from "@/domain/instances/run-strip";
import { costSoFar } from "@/domain/instances/running";
import { isMoving } from "@/domain/instances/standing";
import { StateCell, Why } from "@/domain/instances/state-cell";
import { RunCell } from "@/domain/instances/ticking";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { drawnLater } from "@/lib/later";
import { perDayOf, ratesOf, totalOf } from "@/lib/money";
import { Empty, Section } from "@/ui/page";
import { Ring } from "@/ui/state";
import { type Column, Table } from "@/ui/table";

const DeleteDialog = drawnLater(() => import("@/domain/instances/delete-dialog"));

/** So many are shown; the list has the rest. */
const MOST = 8;

const rank = (it: Instance) => (it.state === "running" ? 0 : it.hold ? 1 : 2);

/** What costs now, or is about to. */
export const nowOf = (items: readonly Instance[]) =>
  items
    .filter((it) => it.state === "running" || it.hold || isMoving(it))
    .toSorted((a, b) => rank(a) - rank(b) || (b.started_at ?? "").localeCompare(a.started_at ?? ""));

export function RunningNow({ items }: { items: readonly Instance[] }) {
  const { t } = useText();
  const { data: ended } = useQuery(endedRuns);
  const [deleting, setDeleting] = useState<Instance | null>(null);
  const all = nowOf(items);
  const strip = (it: Instance) =>
    it.state === "running" ? <RunStrip it={it} ended={ended} /> : <StateCell it={it} />;
  const menu = (it: Instance) => <InstanceMenu it={it} onDelete={setDeleting} />;
  const columns: Column<Instance>[] = [
    {
      key: "name",
      label: t("instances.name"),
      width: "minmax(9rem, 1.3fr)",
      cell: (it) => <Name it={it} />,
    },
    { key: "day", label: t("instances.lastDay"), width: "minmax(9rem, 1fr)", cell: strip },
    { key: "run", label: t("instances.thisRun"), width: "6rem", cell: (it) => <RunCell it={it} /> },
    {
      key: "open",
      label: t("instances.open"),
      hiddenLabel: true,
      width: "7.5rem",
      end: true,
      cell: (it) => <OpenLink it={it} small />,
    },
    {
      key: "actions",
      label: t("instances.actions"),
      hiddenLabel: true,
      width: "1.75rem",
      end: true,
      cell: menu,
    },
  ];
  return (
    <Section
      title={t("overview.runningNow")}
      actions={
        <Link to="/instances" className="text-sm text-ultra hover:underline">
          {t("overview.allInstances")}
        </Link>
      }
    >
      <Table
        label={t("overview.runningNow")}
        items={all.slice(0, MOST)}
        columns={columns}
        rowKey={(it) => it.id}
        empty={<Empty title={t("overview.nothingRuns")}>{t("overview.nothingRunsHint")}</Empty>}
        footer={<Together items={all} />}
        narrow={(it) => (
          <div className="grid grid-cols-[minmax(0,1fr)_auto] items-start gap-x-3 gap-y-2">
            <Name it={it} />
            <div className="-my-1">{menu(it)}</div>
            {strip(it)}
            <span className="text-right">
              <RunCell it={it} />
            </span>
            {it.state === "running" && (
              <div className="col-span-2 grid">
                <OpenLink it={it} />
              </div>
            )}
          </div>
        )}
      />
      {deleting && <DeleteDialog it={deleting} onClose={() => setDeleting(null)} />}
    </Section>
  );
}

function Name({ it }: { it: Instance }) {
  return (
    <span className="flex min-w-0 gap-2">
      <span className={it.state === "running" ? "pt-1.75" : "invisible pt-1.75"}>
        <Ring mark={it.state === "running" ? "runs" : isMoving(it) ? "moves" : "rests"} />
      </span>
      <span className="min-w-0">
        <Link
          to="/instances/$id"
          params={{ id: it.id }}
          className="block truncate font-medium hover:text-ultra hover:underline"
        >
          {it.name}
        </Link>
        {it.state === "running" && it.idle_stop?.stop_at ? (
          <span className="block text-xs">
            <Why it={it} />
          </span>
        ) : (
          <span className="block truncate font-mono text-ink-3 text-xs">
            {[it.gpu_spec.name, it.datacenter].filter(Boolean).join(" · ")}
          </span>
        )}
      </span>
    </span>
  );
}

/** The rate of all that runs, what a day costs, and what it has cost. */
function Together({ items }: { items: readonly Instance[] }) {
  const { t } = useText();
  const { total } = useFormat();
  const now = useNow();
  const running = items.filter((it) => it.state === "running");
  if (running.length === 0) return t("instances.noneRunning");
  const rates = ratesOf(running);
  const known = running.filter((it) => it.started_at);
  return (
    <span className="num flex flex-wrap justify-between gap-x-4">
      <span>
        {t("overview.together", {
          rate: t("ui.perHour", { price: total(rates) }),
          day: total(perDayOf(rates)),
        })}
        {items.length > MOST && ` ${t("overview.shownOf", { shown: MOST, count: items.length })}`}
      </span>
      <span className="font-medium text-ink">
        {t("overview.soFar", {
          sum: total(
            totalOf(
              known.map((it) => ({ currency: it.currency, cost: costSoFar(it, now) })),
              (it) => it.cost ?? noCost,
            ),
          ),
        })}
      </span>
    </span>
  );
}

const noCost = BigInt(0);
