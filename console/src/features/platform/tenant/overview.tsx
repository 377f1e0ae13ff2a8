import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { UsageGroup } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { parseAmount } from "@/lib/money";
import { Empty, Panel, Section } from "@/ui/page";
import { InstanceRows } from "../parts/instance-rows";
import { MonthCost } from "../parts/month-cost";
import { jobUsage, tenant, tenantInstances, usage } from "./queries";

const route = getRouteApi("/_app/admin/tenants/$id");

/** The newest that move or run. */
const SHOWN = 8;

export function TenantOverview() {
  const { t } = useText();
  const { id } = route.useParams();
  const it = useLoaded(tenant(id));
  const { data: instances } = useQuery(tenantInstances(it.id));
  const live = instances?.items.filter((one) => one.state !== "stopped") ?? [];
  const count = instances?.items.length ?? 0;
  const all = count > 0 && (
    <Link to="/admin/instances" search={{ tenant: it.id }} className="text-sm text-ultra hover:underline">
      {t("tenants.allInstances", { count })}
    </Link>
  );
  return (
    <div className="grid gap-x-6 xl:grid-cols-[minmax(0,1fr)_19rem]">
      <Section title={t("tenants.runningNow")} actions={all}>
        {instances && (
          <InstanceRows
            label={t("tenants.runningNow")}
            items={live.slice(0, SHOWN)}
            withTenant={false}
            empty={<Empty title={t("tenants.nothingRuns")}>{t("tenants.nothingRunsHint")}</Empty>}
            footer={live.length > SHOWN && t("tenants.moreRun", { count: live.length - SHOWN })}
          />
        )}
      </Section>
      <div className="max-xl:mt-6">
        <Spending />
      </div>
    </div>
  );
}

function Spending() {
  const { t } = useText();
  const { id } = route.useParams();
  const { data: days } = useQuery(usage(id, "day"));
  const { data: jobs } = useQuery(jobUsage(id));
  const { data: specs } = useQuery(usage(id, "spec"));
  if (!days || !jobs) return null;
  return (
    <Section title={t("tenants.thisMonth")}>
      <Panel className="p-4">
        {days.items.length + jobs.items.length === 0 ? (
          <p className="text-ink-2 text-sm">{t("tenants.nothingSpent")}</p>
        ) : (
          <>
            <MonthCost instances={days.items} jobs={jobs.items} label={t("tenants.byDay")} />
            {specs && <BySpec items={specs.items} />}
          </>
        )}
      </Panel>
    </Section>
  );
}

function BySpec({ items }: { items: readonly UsageGroup[] }) {
  const { money } = useFormat();
  const byCost = [...items].sort((a, b) => Number(parseAmount(b.amount) - parseAmount(a.amount)));
  return (
    <ul className="num mt-4 space-y-1 text-sm">
      {byCost.map((it) => (
        <li key={`${it.group} ${it.currency}`} className="flex justify-between gap-3">
          <span className="truncate font-mono text-xs leading-5">{it.group}</span>
          <span>{money(it.amount, it.currency)}</span>
        </li>
      ))}
    </ul>
  );
}
