import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import type { PoolShare } from "@/api/generated/types";
import { useLoaded, useLoadedPages } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { Fact, Facts } from "@/ui/facts";
import { PageHead, Section } from "@/ui/page";
import { IdText, TenantLink } from "../parts/links";
import { CapacityTable } from "./capacity-table";
import { State } from "./page";
import { capacity, pool, shares, workers } from "./queries";
import { ShareDialog } from "./share-dialog";
import { ShareTable } from "./share-table";
import { WorkerTable } from "./workers";

const route = getRouteApi("/_app/admin/pools/$id");

export function PoolPage() {
  const { t } = useText();
  const { list: listed } = useFormat();
  const { id } = route.useParams();
  const it = useLoaded(pool(id));
  const now = useLoaded(capacity(id));
  const set = useLoadedPages(shares(id));
  const all = useLoadedPages(workers(id));
  const [open, setOpen] = useState<{ share: PoolShare | null } | null>(null);
  const waiting = now.queued.reduce((sum, one) => sum + one.jobs, 0);
  const busy = now.workers.reduce((sum, one) => sum + one.busy, 0);
  return (
    <>
      <PageHead
        title={it.name}
        up={{ label: t("pools.title"), link: { to: "/admin/pools" } }}
        mark={<State it={it} />}
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
          <Button small onClick={() => setOpen({ share: null })}>
            {t("pools.setShareDots")}
          </Button>
        }
      >
        <ShareTable
          items={set.data.pages.flatMap((page) => page.items)}
          onChange={(one) => setOpen({ share: one })}
        />
      </Section>
      <Section title={t("pools.workers")}>
        <WorkerTable
          items={all.data.pages.flatMap((page) => page.items)}
          onEnd={all.hasNextPage ? () => void all.fetchNextPage() : undefined}
        />
      </Section>
      {open && <ShareDialog poolId={id} given={open.share} onClose={() => setOpen(null)} />}
    </>
  );
}
