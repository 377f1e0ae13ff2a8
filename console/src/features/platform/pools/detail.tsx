import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { useLoaded, useLoadedPages } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button, ButtonLink } from "@/ui/button";
import { Fact, Facts } from "@/ui/facts";
import { PageHead, Section } from "@/ui/page";
import { IdText, TenantLink } from "../parts/links";
import { CapacityTable } from "./capacity-table";
import type { Open } from "./dialogs";
import { useFollow } from "./follow";
import { State } from "./page";
import { capacity, pool, shares, workers } from "./queries";
import { ShareTable } from "./share-table";
import { WorkerTable } from "./workers";

const PoolDialogs = lazy(() => import("./dialogs"));

const route = getRouteApi("/_app/admin/pools/$id");

export function PoolPage() {
  const { t } = useText();
  const { list: listed } = useFormat();
  const { id } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const it = useLoaded(pool(id));
  const now = useLoaded(capacity(id));
  const set = useLoadedPages(shares(id));
  const all = useLoadedPages(workers(id));
  const items = all.data.pages.flatMap((page) => page.items);
  useFollow(id, items);
  const [row, setRow] = useState<Open | null>(null);
  const address: Open | null =
    search.open === "share" ? { what: "share", share: null } : search.open ? { what: search.open } : null;
  const open = row ?? address;
  const show = (next: typeof search.open) =>
    void navigate({ search: next ? { open: next } : {}, replace: true });
  const close = () => {
    setRow(null);
    if (search.open) show(undefined);
  };
  const waiting = now.queued.reduce((sum, one) => sum + one.jobs, 0);
  const busy = now.workers.reduce((sum, one) => sum + one.busy, 0);
  return (
    <>
      <PageHead
        title={it.name}
        up={{ label: t("pools.title"), link: { to: "/admin/pools" } }}
        mark={<State it={it} />}
        actions={
          <>
            <ButtonLink kind="quiet" to="/admin/pools/new" search={{ like: it.name }}>
              {t("pools.likeThis")}
            </ButtonLink>
            <ButtonLink to="/admin/pools/$id/edit" params={{ id }}>
              {t("pools.change")}
            </ButtonLink>
          </>
        }
      >
        {it.status.problem ?? t("pools.sentence", { busy, waiting })}
      </PageHead>
      <Facts>
        <Fact label={t("pools.specs")}>
          <span className="font-mono text-xs leading-5">{it.gpu_specs.join(", ")}</span>
        </Fact>
        <Fact label={t("pools.applications")}>{listed(it.applications)}</Fact>
        <Fact label={t("pools.forWhom")}>
          {it.dedicated && it.tenant_id ? <TenantLink id={it.tenant_id} /> : t("platform.allTenants")}
        </Fact>
        <Fact label={t("pools.paidBy")}>
          {it.tenant_id ? <TenantLink id={it.tenant_id} /> : t("pools.nobodyPays")}
        </Fact>
        {it.workers && (
          <Fact label={t("pools.service")}>
            {it.workers.service} {it.workers.version ?? t("pools.recommended")}
          </Fact>
        )}
        <Fact label={t("pools.workers")}>
          {it.workers
            ? t("pools.firmLent", {
                min: it.workers.min,
                max: it.workers.max,
                lent: it.workers.lent_max ?? 0,
              })
            : t("pools.registered")}
        </Fact>
        <Fact label={t("pools.factors")}>{t("pools.factorsOf", { ...it.level_factors })}</Fact>
        <Fact label={t("platform.id")}>
          <IdText id={it.id} />
        </Fact>
      </Facts>
      <Section title={t("pools.capacity")} hint={t("pools.capacityHint")}>
        <CapacityTable now={now} />
      </Section>
      <Section
        title={t("pools.shares")}
        hint={t("pools.sharesHint")}
        actions={
          <Button small onClick={() => show("share")}>
            {t("pools.setShareDots")}
          </Button>
        }
      >
        <ShareTable
          items={set.data.pages.flatMap((page) => page.items)}
          onChange={(share) => setRow({ what: "share", share })}
          onRemove={(share) => setRow({ what: "remove-share", share })}
        />
      </Section>
      <Section
        title={t("pools.workers")}
        hint={t("pools.workersHint")}
        actions={
          <Button small onClick={() => show("register")}>
            {t("pools.registerDots")}
          </Button>
        }
      >
        <WorkerTable
          items={items}
          onEnd={all.hasNextPage ? () => void all.fetchNextPage() : undefined}
          onRemove={(worker) => setRow({ what: "remove-worker", worker })}
        />
      </Section>
      <Suspense>{open && <PoolDialogs pool={it} open={open} onClose={close} />}</Suspense>
    </>
  );
}
