import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { TenantId } from "@/api/generated/types";
import { useLoaded, useLoadedPages } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { ratesOf } from "@/lib/money";
import { PageHead, Panel, Section } from "@/ui/page";
import { instances } from "../instances/queries";
import { MonthCost } from "../parts/month-cost";
import { useTenantName } from "../parts/names";
import { SpentCell } from "../parts/spent-cell";
import { budgets, spending, tenants } from "../tenants/queries";
import { Broken } from "./broken";
import { capacityOf } from "./capacity";
import { CapacityBars } from "./capacity-bars";
import { CapacityOverTime } from "./capacity-over-time";
import { Pools } from "./pools";
import { costByDay, jobCostByDay, stockRows } from "./queries";

const link = "text-sm text-ultra hover:underline";

export function OverviewPage() {
  const { t } = useText();
  const { total } = useFormat();
  const running = useLoadedPages(instances({ state: "running" }));
  const all = useLoadedPages(tenants());
  const { items: rows } = useLoaded(stockRows);
  const places = capacityOf(rows);
  const items = running.data.pages.flatMap((page) => page.items);
  const count = all.data.pages.flatMap((page) => page.items).length;
  const available = places.reduce((sum, it) => sum + it.available, 0);
  return (
    <>
      <PageHead title={t("platformOverview.title")}>
        {t("platformOverview.summary", {
          count: items.length,
          running: running.hasNextPage ? `${items.length}+` : items.length,
          rate: items.length > 0 ? total(ratesOf(items)) : "–",
          tenants: all.hasNextPage ? `${count}+` : count,
          available,
        })}
      </PageHead>
      <Broken />
      <div className="mt-6 grid items-start gap-6 *:mt-0 lg:grid-cols-[minmax(0,1.3fr)_minmax(0,1fr)] lg:[&>section>:first-child]:min-h-7.5">
        <Section title={t("platformOverview.capacity")}>
          <CapacityBars places={places} />
        </Section>
        <CapacityOverTime />
        <Section
          title={t("platformOverview.spenders")}
          actions={
            <Link to="/admin/tenants" className={link}>
              {t("platformOverview.allTenants")}
            </Link>
          }
        >
          <Spenders />
        </Section>
        <Section title={t("tenants.thisMonth")}>
          <Month />
        </Section>
      </div>
      <Section
        title={t("platformOverview.pools")}
        actions={
          <Link to="/admin/pools" className={link}>
            {t("platformOverview.allPools")}
          </Link>
        }
      >
        <Pools />
      </Section>
    </>
  );
}

const SHOWN = 6;

/** The tenants that spend most. */
function Spenders() {
  const { data } = useQuery(spending);
  const { data: terms } = useQuery(budgets);
  const name = useTenantName();
  const most = [...(data?.items ?? [])].sort((a, b) => Number(b.amount) - Number(a.amount)).slice(0, SHOWN);
  return (
    <Panel>
      <ul className="text-sm">
        {most.map((it) => {
          const id = it.group as TenantId;
          return (
            <li
              key={`${it.group} ${it.currency}`}
              className="grid min-h-9 grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 border-line border-b px-4 py-1 last:border-b-0 md:grid-cols-[minmax(0,1fr)_19rem]"
            >
              <Link
                to="/admin/tenants/$id"
                params={{ id }}
                className="truncate font-medium hover:text-ultra hover:underline"
              >
                {name(id)}
              </Link>
              <SpentCell usage={it} terms={terms?.get(id)} />
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

function Month() {
  const { t } = useText();
  const { data: instances } = useQuery(costByDay);
  const { data: jobs } = useQuery(jobCostByDay);
  return (
    <Panel className="p-4">
      {instances && jobs && (
        <MonthCost instances={instances.items} jobs={jobs.items} label={t("platformOverview.byDay")} />
      )}
    </Panel>
  );
}
