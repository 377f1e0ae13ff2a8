import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Outlet } from "@tanstack/react-router";
import { Suspense } from "react";
import type { Tenant } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { ratesOf } from "@/lib/money";
import { Fact, Facts } from "@/ui/facts";
import { PageHead, TabLinks } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { IdText } from "../parts/links";
import { totalsOf } from "../parts/spent";
import { tenantStanding } from "../parts/tenant-standing";
import { TenantActions } from "./actions";
import { TenantDialogs } from "./dialogs";
import { Ending } from "./ending";
import { budget, members, tenant, tenantInstances, usage } from "./queries";

const route = getRouteApi("/_app/admin/tenants/$id");

export function TenantLayout() {
  const { t } = useText();
  const { id } = route.useParams();
  const it = useLoaded(tenant(id));
  const { mark, word } = tenantStanding(it);
  return (
    <>
      <PageHead
        title={it.name}
        up={{ label: t("tenants.title"), link: { to: "/admin/tenants" } }}
        mark={<StateMark mark={mark}>{t(word)}</StateMark>}
        actions={<TenantActions it={it} />}
      >
        <Sentence it={it} />
      </PageHead>
      <TenantFacts it={it} />
      <Ending it={it} />
      <TabLinks
        label={t("tenants.parts")}
        tabs={[
          { label: t("tenants.overview"), link: { to: "/admin/tenants/$id", params: { id } } },
          { label: t("tenants.members"), link: { to: "/admin/tenants/$id/members", params: { id } } },
          { label: t("tenants.limits"), link: { to: "/admin/tenants/$id/limits", params: { id } } },
        ]}
      />
      <Outlet />
      <Suspense>
        <TenantDialogs it={it} />
      </Suspense>
    </>
  );
}

/** What runs and what it costs, and what the month has cost. */
function Sentence({ it }: { it: Tenant }) {
  const { t } = useText();
  const { total, money } = useFormat();
  const { data: instances } = useQuery(tenantInstances(it.id));
  const { data: spent } = useQuery(usage(it.id, "tenant"));
  const { data: terms } = useQuery(budget(it.id));
  if (!instances || !spent || terms === undefined) return null;
  const running = instances.items.filter((one) => one.state === "running");
  const runs = running.length
    ? t("tenants.runs", { count: running.length, rate: total(ratesOf(running)) })
    : t("tenants.nothingRuns");
  const totals = totalsOf(spent.items);
  const amount = totals.size > 0 ? total(totals) : money("0", terms?.terms.currency ?? "USD");
  return terms
    ? t("tenants.sentence", { runs, spent: amount, budget: money(terms.terms.amount, terms.terms.currency) })
    : t("tenants.sentenceNoBudget", { runs, spent: amount });
}

function TenantFacts({ it }: { it: Tenant }) {
  const { t } = useText();
  const { day } = useFormat();
  const { data: people } = useQuery(members(it.id));
  const owners = people?.items.filter((one) => one.role === "owner") ?? [];
  return (
    <Facts>
      <Fact label={t("platform.id")}>
        <IdText id={it.id} />
      </Fact>
      <Fact label={t("platform.created")}>{day(it.created_at)}</Fact>
      <Fact label={t("tenants.members")}>{people ? people.items.length : "–"}</Fact>
      <Fact label={t("tenants.owners")}>
        {people
          ? owners.length > 0
            ? owners.map((one) => one.display_name).join(t("platform.comma"))
            : t("tenants.noOwner")
          : "–"}
      </Fact>
    </Facts>
  );
}
